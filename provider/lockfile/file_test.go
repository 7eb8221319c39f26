package lockfile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
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
	var none *lockfile.File
	if _, ok := none.Get(alpha); ok || none.Len() != 0 || none.Covers(alpha, v1) || none.Locks(alpha, v1) || len(none.Accept(alpha, v1).Hashes()) != 0 {
		t.Error("a nil File is not empty")
	}
	for e := range none.All() {
		t.Errorf("a nil File has %v", e)
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
		if got.IsZero() || !slices.Equal(got.Hashes(), tt.want) {
			t.Errorf("%s: Accept gave %#v, want %v and never the zero Set", tt.name, got, tt.want)
		}
		if f.Covers(tt.p, tt.v) != (len(tt.want) > 0) {
			t.Errorf("%s: Covers is wrong", tt.name)
		}
	}
	// A policy with what is not covered refuses even a package with a hash.
	policy := verify.Policy{Accept: f.Accept(beta, v1)}
	if report, err := policy.Judge(t.Context(), verify.Evidence{}, checksum.Digests{Size: 1, Hashes: []checksum.Hash{zh1}}); err == nil {
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
	f.Accept(alpha, v1).Hashes()[0] = zh3
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
	for _, test := range []struct{ src, header, want string }{
		{inBlock(), "new", "# new\n\n" + inBlock()},
		{inBlock(), lockfile.HeaderNone, inBlock()},
		{"# old\n\n" + inBlock(), lockfile.HeaderNone, inBlock()},
	} {
		lenient := parseLenient(t, test.src)
		lenient.Header = test.header
		if got := string(lenient.Bytes()); got != test.want {
			t.Errorf("header %q of %q: wrote %q", test.header, test.src, got)
		}
	}
	none := &lockfile.File{Header: lockfile.HeaderNone}
	merge(t, none, alpha, v1, addrs.ProviderConstraint{})
	if got, want := string(none.Bytes()), block(`  version = "1.0.0"`); got != want {
		t.Errorf("without header: wrote %q, want %q", got, want)
	}
}

func TestNotLockedError(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want string
	}{
		{verify.ErrNotAccepted, `"tofu providers lock -platform=linux_arm64 registry.example.com/acme/alpha" adds it: no accepted hash`},
		{fmt.Errorf("%w: %w", lockfile.ErrUnreadable, verify.ErrNotAccepted), "repair the entry of registry.example.com/acme/alpha in the lock file: the locked hashes are unreadable"},
	} {
		err := &lockfile.NotLockedError{Provider: alpha, Version: v1, Platform: addrs.MustParsePlatform("linux_arm64"), Err: test.err}
		if !strings.Contains(err.Error(), test.want) || !errors.Is(err, verify.ErrNotAccepted) {
			t.Errorf("Error() = %q, want %q in it", err, test.want)
		}
	}
}

func TestEntryJSON(t *testing.T) {
	t.Parallel()
	for e := range parse(t, canonical).All() {
		data := must.Get(json.Marshal(e))(t)
		var got lockfile.Entry
		if err := json.Unmarshal(data, &got); err != nil || got.Provider != e.Provider || got.Version != e.Version || got.Constraints != e.Constraints || !slices.Equal(got.Hashes, e.Hashes) {
			t.Errorf("%s: %v, %v", data, got, err)
		}
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	sums := must.Get(verify.ParseSums([]byte(zh2.Value() + "  a.zip\n" + zh1.Value() + "  b.zip\n")))(t)
	signed := &verify.Report{Local: []checksum.Hash{h1a}, SignedBy: &verify.Signature{}, Sums: sums}
	stated := &verify.Report{Local: []checksum.Hash{zh1}, Stated: []checksum.Hash{zh3}}
	for _, tt := range []struct {
		name    string
		version addrs.Version
		hashes  []checksum.Hash
		want    []checksum.Hash
	}{
		{"computed and signed", v1, signed.Recordable(), []checksum.Hash{h1a, new1, zh1, zh2}},
		{"stated, if that is recordable", v1, stated.Recordable(), []checksum.Hash{h1a, new1, zh1, zh3}},
		{"no report", v1, (*verify.Report)(nil).Recordable(), []checksum.Hash{h1a, new1, zh1}},
		{"another version", v2, signed.Recordable(), []checksum.Hash{h1a, zh1, zh2}},
		{"another version, no hashes", v2, nil, nil},
	} {
		for _, f := range []*lockfile.File{parse(t, canonical), parseLenient(t, canonical)} {
			must.Do(t, f.Merge(alpha, tt.version, constraint("~> 1"), tt.hashes))
			e, _ := f.Get(alpha)
			if e.Version != tt.version || e.Constraints != constraint("~> 1.0") || !slices.Equal(e.Hashes, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, e, tt.want)
			}
			if again := parse(t, string(f.Bytes())); !again.Equal(f) {
				t.Errorf("%s: read back %s", tt.name, again.Bytes())
			}
		}
	}
}

// TestMergeRefuses also makes sure that a refusal changes nothing.
func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	none := addrs.ProviderConstraint{}
	var manyTerms addrs.ProviderConstraint
	for i := range 500 {
		manyTerms = manyTerms.And(constraint(fmt.Sprintf("!= 1.0.%d", i)))
	}
	for _, tt := range []struct {
		name     string
		p        addrs.Provider
		v        addrs.Version
		c        addrs.ProviderConstraint
		lockable bool
	}{
		{"no provider", addrs.Provider{}, v1, none, false},
		{"built in", addrs.MustParseProvider("terraform.io/builtin/terraform"), v1, none, false},
		{"legacy", addrs.MustParseProvider("-/aws"), v1, none, false},
		{"no version", alpha, addrs.Version{}, none, true},
		{"version of a module", alpha, addrs.MustParseModuleVersion("1.2.3.4"), none, true},
		{"constraint of too many terms", alpha, v1, manyTerms, true},
	} {
		f := parse(t, canonical)
		err := f.Merge(tt.p, tt.v, tt.c, []checksum.Hash{zh1})
		if err == nil || errors.Is(err, lockfile.ErrNotLockable) == tt.lockable {
			t.Errorf("%s: %v", tt.name, err)
		}
		if string(f.Bytes()) != canonical {
			t.Errorf("%s: the file has become\n%s", tt.name, f.Bytes())
		}
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	f := &lockfile.File{}
	given := []checksum.Hash{zh2, {}, zh1, zh2}
	must.Do(t, f.Set(lockfile.Entry{Provider: alpha, Version: v1, Hashes: given}))
	if got := f.Accept(alpha, v1).Hashes(); !slices.Equal(got, []checksum.Hash{zh1, zh2}) || given[0] != zh2 {
		t.Errorf("got %v of %v", got, given)
	}
	if err := f.Set(lockfile.Entry{Provider: alpha, Version: v1}); err != nil || f.Covers(alpha, v1) {
		t.Errorf("%v, or the old hashes are still there", err)
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	const src = `provider "example.com/hashicorp/d" {
  version = "6.0.0"
}
provider "registry.opentofu.org/hashicorp/c" {
  version = "4.0.0"
}
provider "registry.terraform.io/acme/b" {
  version = "2.0.0"
}
provider "registry.terraform.io/hashicorp/a" {
  version     = "1.0.0"
  constraints = ">= 1.0.0"
  hashes = ["a:a"]
}
provider "registry.terraform.io/hashicorp/c" {
  version = "3.0.0"
}
provider "registry.terraform.io/hashicorp/b" {
  version = "5.0.0"
}
`
	f := parse(t, src)
	added := f.Migrate()
	a, b := addrs.MustParseProvider("hashicorp/a"), addrs.MustParseProvider("hashicorp/b")
	if !slices.Equal(added, []addrs.Provider{a, b}) || f.Len() != 8 {
		t.Errorf("added %v, %d entries", added, f.Len())
	}
	if e, ok := f.Get(a); !ok || e.Version != v1 || e.Constraints != constraint(">= 1.0.0") || len(e.Hashes) != 0 || e.Provider != a {
		t.Errorf("%v", e)
	}
	if e, _ := f.Get(addrs.MustParseProvider("hashicorp/c")); e.Version.String() != "4.0.0" {
		t.Errorf("%v", e)
	}
	if again := f.Migrate(); len(again) != 0 {
		t.Errorf("the second time added %v", again)
	}
	if broken := parseLenient(t, "provider \"registry.terraform.io/hashicorp/a\" {\n}\n"); len(broken.Migrate()) != 0 {
		t.Error("an entry without a version was migrated")
	}
}

// TestKeep: what is not in the list goes, in order; what is not locked does not matter.
func TestKeep(t *testing.T) {
	t.Parallel()
	for _, f := range []*lockfile.File{parse(t, canonical), parseLenient(t, canonical), {}} {
		before := f.Clone()
		if removed := f.Keep(slices.Values([]addrs.Provider{gamma, beta, alpha})); removed != nil || !f.Equal(before) {
			t.Errorf("Keep of all removed %v", removed)
		}
		if removed := f.Keep(slices.Values([]addrs.Provider{beta, gamma})); f.Len() == 1 && !slices.Equal(removed, []addrs.Provider{alpha}) {
			t.Errorf("Keep returned %v, want %v", removed, alpha)
		}
		if _, ok := f.Get(alpha); ok || f.Len() != min(before.Len(), 1) || strings.Contains(string(f.Bytes()), alpha.String()) {
			t.Errorf("Keep left\n%s", f.Bytes())
		}
		if removed := before.Keep(slices.Values([]addrs.Provider(nil))); before.Len() != 0 || len(removed) == 1 {
			t.Errorf("Keep of none removed %v", removed)
		}
	}
	first := parseLenient(t, inBlock()+"\n"+strings.Replace(inBlock(), "alpha", "gamma", 1))
	first.Keep(slices.Values([]addrs.Provider{gamma}))
	if got, want := string(first.Bytes()), strings.Replace(inBlock(), "alpha", "gamma", 1); got != want {
		t.Errorf("Keep of the second block left %q, want %q", got, want)
	}
	indented := parseLenient(t, "# top\n\nmodule \"x\" {\n}\n  # own\n  "+inBlock())
	indented.Delete(alpha)
	if got, want := string(indented.Bytes()), "# top\n\nmodule \"x\" {\n}\n"; got != want {
		t.Errorf("Delete of an indented block left %q, want %q", got, want)
	}
}

// TestQuoting compares the texts in quotes with those of the library that the CLI
// writes with.
func TestQuoting(t *testing.T) {
	t.Parallel()
	hashes := []string{`a:"`, `a:\`, `a:\n`, `a:${x}`, `a:%{x}`, `a:$${x`, `a:%%{`, `a:$`, `a:$%{`, `a:{`, `$:{`, `a:$$`}
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		s := []byte("a:")
		for range 1 + random.IntN(6) {
			s = append(s, `"\${}%:nua!~`[random.IntN(12)])
		}
		hashes = append(hashes, string(s))
	}
	for _, s := range hashes {
		h := checksum.MustParseHash(s)
		f := &lockfile.File{}
		merge(t, f, alpha, v1, addrs.ProviderConstraint{}, h)
		text := string(f.Bytes())
		if !strings.Contains(text, "\n    "+quotedByHCL(s)+",\n") {
			t.Errorf("%s is not %s in\n%s", s, quotedByHCL(s), text)
		}
		if got := parse(t, text).Accept(alpha, v1).Hashes(); len(got) != 1 || got[0] != h {
			t.Errorf("%s was read back as %v", s, got)
		}
	}
	for _, s := range []string{"über.example.com/acme/alpha", "registry.example.com:8443/ß/日本"} {
		p, f := addrs.MustParseProvider(s), &lockfile.File{}
		merge(t, f, p, v1, addrs.ProviderConstraint{})
		text := string(f.Bytes())
		if !strings.Contains(text, "\nprovider "+quotedByHCL(p.String())+" {\n") {
			t.Errorf("%s is not %s in\n%s", p, quotedByHCL(p.String()), text)
		}
		if !parse(t, text).Equal(f) {
			t.Errorf("%s was not read back from\n%s", p, text)
		}
	}
}

// quotedByHCL returns s as the label of a block.
func quotedByHCL(s string) string {
	f := hclwrite.NewEmptyFile()
	f.Body().AppendNewBlock("x", []string{s})
	return strings.TrimSuffix(strings.TrimPrefix(string(f.Bytes()), "x "), " {\n}\n")
}
