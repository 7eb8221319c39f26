package hostile_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/jsondoc"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// members returns a document with n elements between before and after.
func members(n int, before, after string, element func(i int) string) []byte {
	var b strings.Builder
	b.WriteString(before)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(element(i))
	}
	return []byte(b.String() + after)
}

// TestManyMembers: a document of any client with more members than the limit is an error before it is decoded, and one at
// the limit takes little memory. It measures memory, so it does not run in parallel.
func TestManyMembers(t *testing.T) {
	name := func(i int) string { return fmt.Sprintf(`"%x":{}`, i) }
	same := func(s string) func(int) string { return func(int) string { return s } }
	var ops []operation
	for _, op := range operations {
		if !op.streams() && op.json && op.limit >= 16<<20 {
			ops = append(ops, op)
		}
	}
	for what, doc := range map[string]func(n int) []byte{
		"names":     func(n int) []byte { return members(n, "{", "}", name) },
		"objects":   func(n int) []byte { return members(n, "[", "]", same("{}")) },
		"versions":  func(n int) []byte { return members(n, `{"versions":{`, "}}", name) },
		"list":      func(n int) []byte { return members(n, `{"versions":[`, "]}", same("{}")) },
		"platforms": func(n int) []byte { return members(n, `{"versions":[{"platforms":[`, "]}]}", same("{}")) },
		"protocols": func(n int) []byte { return members(n, `{"versions":[{"protocols":[`, "]}]}", same(`""`)) },
		"warnings":  func(n int) []byte { return members(n, `{"versions":[],"warnings":[`, "]}", same(`""`)) },
		"modules":   func(n int) []byte { return members(n, `{"modules":[`, "]}", same("{}")) },
		"of module": func(n int) []byte { return members(n, `{"modules":[{"versions":[`, "]}]}", same("{}")) },
	} {
		for _, n := range []int{jsondoc.MaxMembers - 1, jsondoc.MaxMembers + 1} {
			raw := doc(n)
			for _, op := range ops {
				w := newWorld(t)
				w.retries = -1
				run := op.ready(t, w, regtest.Fault{Raw: raw})
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := run(t.Context())
				runtime.ReadMemStats(&after)
				if n > jsondoc.MaxMembers && !errors.Is(err, failure.ErrTooLarge) {
					t.Errorf("%s, %d %s: %v, want ErrTooLarge", op.name, n, what, err)
				}
				if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 100 {
					t.Errorf("%s, %d %s: %d MiB were allocated", op.name, n, what, mib)
				}
			}
		}
	}
}
