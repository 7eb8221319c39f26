package regdir_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/storage"
)

// many returns a document with n elements between before and after.
func many(n int, before, after string, element func(i int) string) string {
	var b strings.Builder
	b.WriteString(before)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(element(i))
	}
	return b.String() + after
}

// TestMembersOfDocuments: a document in the store that has more versions or members than its limit is an error before
// it is decoded, and takes little memory. It measures memory, so it does not run in parallel.
func TestMembersOfDocuments(t *testing.T) {
	version := func(i int) string { return fmt.Sprintf(`{"version":"1.0.%d"}`, i) }
	same := func(s string) func(int) string { return func(int) string { return s } }
	linux := addrs.MustParsePlatform("linux_amd64")
	for name, test := range map[string]struct {
		doc      string
		tooLarge bool
	}{
		"100,000 versions":    {many(100_000, `{"versions":[`, "]}", version), false},
		"100,001 versions":    {many(100_001, `{"versions":[`, "]}", version), true},
		"a million elements":  {many(1_000_000, `{"versions":[`, "]}", same("{}")), true},
		"a million modules":   {many(1_000_000, `{"modules":[`, "]}", same("{}")), true},
		"500,001 archives":    {many(500_001, `{"archives":[`, "]}", same("{}")), true},
		"a million archives":  {many(1_000_000, `{"archives":[`, "]}", same("{}")), true},
		"a million keys":      {many(1_000_000, `{"keys":[`, "]}", same("{}")), true},
		"a million platforms": {many(1_000_000, `{"versions":[{"version":"1.0.0","platforms":[`, "]}]}", same("{}")), true},
	} {
		s := &storage.Memory{}
		r := newRegistry(s)
		for _, file := range []string{"v1/providers/acme/alpha/versions", "v1/modules/acme/network/aws/versions", "files/providers/acme/alpha/1.0.0/record.json"} {
			must.Do(t, s.Write(t.Context(), file, io.NewSectionReader(strings.NewReader(test.doc), 0, int64(len(test.doc))), ""))
		}
		for _, job := range []struct {
			name string
			run  func() error
		}{
			{"ProviderVersions", func() error { _, err := r.ProviderVersions(t.Context(), alpha); return err }},
			{"ModuleVersions", func() error { _, err := r.ModuleVersions(t.Context(), network); return err }},
			{"ProviderPackage", func() error { _, err := r.ProviderPackage(t.Context(), alpha, v1, linux); return err }},
			{"RemoveProvider", func() error { return r.RemoveProvider(t.Context(), alpha, v1) }}, // also of a damaged record
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := job.run()
			runtime.ReadMemStats(&after)
			if job.name != "RemoveProvider" && errors.Is(err, failure.ErrTooLarge) != test.tooLarge && !(job.name == "ProviderPackage" && strings.HasPrefix(name, "100,00")) {
				t.Errorf("%s of %s: %v, want ErrTooLarge: %t", job.name, name, err, test.tooLarge)
			}
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 250 || test.tooLarge && mib > 40 {
				t.Errorf("%s of %s allocates %d MiB", job.name, name, mib)
			}
		}
	}
}
