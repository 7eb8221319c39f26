package mirrordir_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/serve/mirrordir"
)

// TestMembersOfDocuments: an index or a document with more members than its limit is an error before it is decoded, and
// takes little memory. It measures memory, so it does not run in parallel.
func TestMembersOfDocuments(t *testing.T) {
	many := func(n int, before, element, after string) string {
		var b strings.Builder
		b.WriteString(before)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strings.Replace(element, "%", fmt.Sprint(i), 1))
		}
		return b.String() + after
	}
	for name, test := range map[string]struct {
		doc      string
		tooLarge bool
	}{
		"40,000 archives":   {many(40_000, `{"archives":{`, `"l%_a":{"url":"x"}`, "}}"), false},
		"60,000 archives":   {many(60_000, `{"archives":{`, `"l%_a":{"url":"x"}`, "}}"), true}, // more than 1 MiB
		"a million members": {many(1_000_000, `{`, `"%":0`, "}"), true},
		"a million hashes":  {many(1_000_000, `{"archives":{"linux_amd64":{"hashes":[`, `""`, "]}}}"), true},
	} {
		m, dir := newMirror(t)
		write(t, dir, home+"/index.json", `{"versions":{"1.0.0":{}}}`)
		write(t, dir, home+"/1.0.0.json", test.doc)
		write(t, dir, archive(v1, linux), "archive")
		for job, run := range map[string]func() error{
			"ProviderPackage": func() error { _, err := m.ProviderPackage(t.Context(), alpha, v1, linux); return err },
			"Check":           func() error { _, err := m.Check(t.Context(), mirrordir.CheckOptions{}); return err },
		} {
			if job == "Check" && !test.tooLarge {
				continue // it looks for each archive
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := run()
			runtime.ReadMemStats(&after)
			if job == "ProviderPackage" && errors.Is(err, failure.ErrTooLarge) != test.tooLarge {
				t.Errorf("%s beside %s: %v, want ErrTooLarge: %t", job, name, err, test.tooLarge)
			}
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 250 {
				t.Errorf("%s beside %s allocates %d MiB", job, name, mib)
			}
		}
	}
}
