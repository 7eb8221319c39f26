package lockfile_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func TestZeroFile(t *testing.T) {
	t.Parallel()
	var f lockfile.File
	if f.Len() != 0 || f.Covers(alpha, v1) || f.Delete(alpha) || len(f.Migrate()) != 0 || len(f.Warnings()) != 0 {
		t.Error("the zero File is not empty")
	}
	for e := range f.All() {
		t.Errorf("got %v", e)
	}
	if got := string(f.Bytes()); got != lockfile.HeaderOpenTofu+"\n" {
		t.Errorf("wrote %q", got)
	}
	if !f.Equal(&lockfile.File{}) || !f.Clone().Equal(&f) {
		t.Error("two empty files differ")
	}
	merge(t, &f, alpha, v1, constraint("~> 1.0"), zh1)
	if f.Len() != 1 {
		t.Errorf("%d entries, want 1", f.Len())
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	f := &lockfile.File{}
	for _, p := range []string{"registry.example.com/z/a", "a.example.com/a/a", "registry.example.com/a/z", "registry.example.com/a/b"} {
		merge(t, f, addrs.MustParseProvider(p), v1, addrs.ProviderConstraint{})
	}
	var got []string
	for e := range f.All() {
		got = append(got, e.Provider.String())
		f.Delete(addrs.MustParseProvider("registry.example.com/a/z"))
	}
	want := []string{"a.example.com/a/a", "registry.example.com/a/b", "registry.example.com/z/a"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for range f.All() {
		break
	}
}

func TestAcceptAndCovers(t *testing.T) {
	t.Parallel()
	f := parse(t, canonical)
	merge(t, f, beta, v1, addrs.ProviderConstraint{})
	for _, tt := range []struct {
		name string
		p    addrs.Provider
		v    addrs.Version
		want []checksum.Hash
	}{
		{"locked", alpha, v1, []checksum.Hash{h1a, new1, zh1}},
		{"at another version", alpha, v2, nil},
		{"without hashes", beta, v1, nil},
		{"not locked", addrs.MustParseProvider("acme/other"), v1, nil},
		{"no version", alpha, addrs.Version{}, nil},
		{"nothing", addrs.Provider{}, addrs.Version{}, nil},
	} {
		got := f.Accept(tt.p, tt.v)
		if got == nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: Accept gave %#v, want %v and never nil", tt.name, got, tt.want)
		}
		if f.Covers(tt.p, tt.v) != (len(tt.want) > 0) {
			t.Errorf("%s: Covers is wrong", tt.name)
		}
	}
	// A policy with what is not covered refuses even a package with a hash.
	policy := verify.Policy{Accept: f.Accept(beta, v1)}
	if report, err := policy.Judge(verify.Evidence{}, 1, []checksum.Hash{zh1}); err == nil {
		t.Errorf("accepted: %v", report)
	}
}

// TestCopies makes sure that what callers do with slices does not reach the file.
func TestCopies(t *testing.T) {
	t.Parallel()
	f := parse(t, canonical)
	given := []checksum.Hash{zh2, zh1}
	merge(t, f, beta, v1, addrs.ProviderConstraint{}, given...)
	before := string(f.Bytes())
	clone := f.Clone()
	given[0] = zh3
	f.Accept(alpha, v1)[0] = zh3
	e, _ := f.Get(alpha)
	e.Hashes[0] = zh3
	for e := range f.All() {
		e.Hashes[0] = zh3
	}
	if got := string(f.Bytes()); got != before {
		t.Errorf("the file has become\n%s", got)
	}
	f.Delete(alpha)
	merge(t, f, gamma, v2, addrs.ProviderConstraint{}, zh3)
	f.Header = "other"
	if got := string(clone.Bytes()); got != before {
		t.Errorf("the clone has become\n%s", got)
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit func(*lockfile.File)
		want bool
	}{
		"same":       {func(*lockfile.File) {}, true},
		"constraint": {func(f *lockfile.File) { merge(t, f, alpha, v1, constraint("1.0.0")) }, true},
		"header":     {func(f *lockfile.File) { f.Header = "x" }, true},
		"hash":       {func(f *lockfile.File) { merge(t, f, alpha, v1, constraint("1.0.0"), zh2) }, false},
		"version":    {func(f *lockfile.File) { merge(t, f, alpha, v2, constraint("1.0.0"), h1a, new1, zh1) }, false},
		"more":       {func(f *lockfile.File) { merge(t, f, beta, v1, constraint("1.0.0")) }, false},
		"less":       {func(f *lockfile.File) { f.Delete(alpha) }, false},
		"other": {func(f *lockfile.File) {
			f.Delete(gamma)
			merge(t, f, beta, v2, constraint(""), zh2)
		}, false},
	} {
		a, b := parse(t, canonical), parseLenient(t, canonical)
		tt.edit(b)
		if a.Equal(b) != tt.want || b.Equal(a) != tt.want {
			t.Errorf("%s: want Equal %v", name, tt.want)
		}
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"":                       lockfile.HeaderOpenTofu,
		lockfile.HeaderTerraform: lockfile.HeaderTerraform,
		"# a\r\n// b\n\nc\n\n":   "# a\n// b\n#\n# c",
	} {
		strict := &lockfile.File{Header: header}
		if got := string(strict.Bytes()); got != want+"\n" {
			t.Errorf("%q: wrote %q", header, got)
		}
		if got := parse(t, string(strict.Bytes())).Header; got != want {
			t.Errorf("%q: read %q", header, got)
		}
		for _, src := range []string{"# old\n# old\n\n" + inBlock(), "\n# old\n\n" + inBlock()} {
			lenient := parseLenient(t, src)
			lenient.Header = header
			if got := string(lenient.Bytes()); got != strings.TrimSuffix(src, strings.TrimLeft(src, "\n"))+want+"\n\n"+inBlock() {
				t.Errorf("%q: lenient wrote %q", header, got)
			}
		}
	}
	lenient := parseLenient(t, inBlock())
	lenient.Header = "new"
	if got := string(lenient.Bytes()); got != "# new\n\n"+inBlock() {
		t.Errorf("wrote %q", got)
	}
}

func TestConcurrentReaders(t *testing.T) {
	t.Parallel()
	f := parseLenient(t, canonical)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			c := f.Clone()
			merge(t, c, alpha, v1, constraint("1.0.0"), zh3)
			if string(f.Bytes()) != canonical || f.Equal(c) || f.Len() != 2 || len(f.Accept(alpha, v1)) != 3 {
				t.Error("a clone changed the file")
			}
		})
	}
	wg.Wait()
}

func TestEntryJSON(t *testing.T) {
	t.Parallel()
	for e := range parse(t, canonical).All() {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var got lockfile.Entry
		if err := json.Unmarshal(data, &got); err != nil || got.Provider != e.Provider || got.Version != e.Version || got.Constraints != e.Constraints || !slices.Equal(got.Hashes, e.Hashes) {
			t.Errorf("%s: %v, %v", data, got, err)
		}
	}
}
