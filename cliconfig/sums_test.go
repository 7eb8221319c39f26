package cliconfig_test

import (
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// another is the line of another file.
var another = strings.Repeat("a", 64) + "  another.zip\n"

// realSums changes the line of a signed SHA256SUMS document. here is whether this package accepts the result,
// theirs are the CLIs that do.
var realSums = map[string]struct {
	edit   func(line string) string
	here   bool
	theirs string
}{
	"as sha256sum writes it":  {func(l string) string { return another + l }, true, "terraform tofu"},
	"one space":               {func(l string) string { return strings.Replace(l, "  ", " ", 1) }, true, "terraform tofu"},
	"a tab":                   {func(l string) string { return strings.Replace(l, "  ", "\t", 1) }, true, "terraform tofu"},
	"three spaces":            {func(l string) string { return strings.Replace(l, "  ", "   ", 1) }, true, "terraform tofu"},
	"spaces around":           {func(l string) string { return " \t" + strings.TrimSuffix(l, "\n") + " \n" }, true, "terraform tofu"},
	"upper case, CRLF":        {func(l string) string { return strings.ToUpper(l[:64]) + strings.TrimSuffix(l[64:], "\n") + "\r\n" }, true, "terraform tofu"},
	"no line end":             {func(l string) string { return strings.TrimSuffix(l, "\n") }, true, "terraform tofu"},
	"comments":                {func(l string) string { return "# release 1.2.0\n" + l + "# " + another }, true, "terraform tofu"},
	"comment behind":          {func(l string) string { return strings.TrimSuffix(l, "\n") + "  # Linux\n" }, true, "terraform tofu"},
	"BOM before another file": {func(l string) string { return "\ufeff" + another + l }, true, "terraform tofu"},
	"SHA-512 of another file": {func(l string) string { return strings.Repeat("b", 128) + "  another.zip\n" + l }, true, "terraform tofu"},
	"SHA-512 behind":          {func(l string) string { return l + strings.Repeat("b", 128) + l[64:] }, true, "terraform tofu"},
	"BSD line before": {func(l string) string {
		return "SHA256 (" + l[66:len(l)-1] + ") = " + strings.Repeat("b", 64) + "\n" + l
	}, true, "terraform tofu"},
	"another digest behind":      {func(l string) string { return l + another[:64] + l[64:] }, false, "terraform tofu"},
	"another digest before":      {func(l string) string { return another[:64] + l }, false, ""},
	"another digest in comment":  {func(l string) string { return "# " + another[:64] + l[64:] + l }, true, "terraform tofu"},
	"only a comment":             {func(l string) string { return "# " + l + another }, false, ""},
	"only a BSD line":            {func(l string) string { return "SHA256 (" + l[66:len(l)-1] + ") = " + l[:64] + "\n" }, false, ""},
	"only SHA-512":               {func(l string) string { return l[:64] + l }, false, ""},
	"another name":               {func(l string) string { return another + l[:66] + "x" + l[66:] }, false, ""},
	"only a name behind another": {func(l string) string { return l[:66] + "x" + l[65:] }, false, ""},
	"BOM":                        {func(l string) string { return "\ufeff" + l + another }, true, ""},
	"binary mark":                {func(l string) string { return strings.Replace(l, "  ", " *", 1) }, true, ""},
	"a mail":                     {func(l string) string { return "Hello,\n" + l }, false, "terraform tofu"},
	"SHA-512 before":             {func(l string) string { return strings.Repeat("b", 128) + l[64:] + l }, true, ""},
	"blank line":                 {func(l string) string { return another + "\n" + l }, true, ""},
}

// TestRealSums compares which SHA256SUMS documents the CLIs and this package read: all on which they differ, and every fourth other
// one, with -cliconfig.all every one.
func TestRealSums(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows has other places")
	}
	terraformtest.Each(t, func(t *testing.T, program string) {
		for i, name := range slices.Sorted(maps.Keys(realSums)) {
			c := realSums[name]
			if same := c.here == (c.theirs != ""); same && i%4 != 0 && !*allCases {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, realCase{edit: func(p *regtest.Provider) {
					p.EditSums = func(sums []byte) []byte { return []byte(c.edit(string(sums))) }
				}})
				ours, err := w.ensure(t)
				if (err == nil) != c.here {
					t.Errorf("Ensure: %v, want a package: %t", err, c.here)
				}
				theirs, out, err := w.init(t, program)
				if want := slices.Contains(strings.Fields(c.theirs), filepath.Base(program)); (err == nil) != want {
					t.Errorf("%s: %v, want a package: %t\n%s", program, err, want, out)
				}
				if c.here && err == nil && withoutMore(ours, theirs) != theirs {
					t.Errorf("the lock file of %s is\n%sthat of Ensure\n%s", program, theirs, ours)
				}
			})
		}
	})
}

// TestRealShasum: like the CLIs, a document without the shasum is refused, whatever SHA256SUMS lists.
func TestRealShasum(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows has other places")
	}
	terraformtest.Each(t, func(t *testing.T, program string) {
		w := newWorld(t, realCase{})
		w.registry.AddFault(without("shasum"))
		if _, err := w.ensure(t); err == nil || !strings.Contains(err.Error(), "shasum is missing") {
			t.Errorf("Ensure: %v, want an error about shasum", err)
		}
		if _, out, err := w.init(t, program); err == nil || !strings.Contains(out, "invalid SHA256 hash") {
			t.Errorf("%s: %v, want an error about the hash\n%s", program, err, out)
		}
	})
}
