package lockfile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	sums, err := verify.ParseSums([]byte(zh2.Value() + "  a.zip\n" + zh1.Value() + "  b.zip\n"))
	if err != nil {
		t.Fatal(err)
	}
	signed := &verify.Report{Local: []checksum.Hash{h1a}, SignedBy: &verify.Signature{}, Sums: sums, Claimed: []checksum.Hash{zh3}}
	stated := &verify.Report{Local: []checksum.Hash{zh1}, Stated: []checksum.Hash{zh3}}
	for _, tt := range []struct {
		name    string
		version addrs.Version
		reports []lockfile.Recorder
		want    []checksum.Hash
	}{
		{"computed and signed, not claimed", v1, []lockfile.Recorder{signed}, []checksum.Hash{h1a, new1, zh1, zh2}},
		{"stated, if that is recordable", v1, []lockfile.Recorder{stated}, []checksum.Hash{h1a, new1, zh1, zh3}},
		{"several platforms, and none", v1, []lockfile.Recorder{signed, nil, (*verify.Report)(nil), stated}, []checksum.Hash{h1a, new1, zh1, zh2, zh3}},
		{"no report", v1, nil, []checksum.Hash{h1a, new1, zh1}},
		{"another version", v2, []lockfile.Recorder{signed}, []checksum.Hash{h1a, zh1, zh2}},
		{"another version, no report", v2, nil, nil},
	} {
		for _, f := range []*lockfile.File{parse(t, canonical), parseLenient(t, canonical)} {
			if err := f.Merge(alpha, tt.version, constraint("~> 1"), tt.reports...); err != nil {
				t.Fatal(err)
			}
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

// manyTerms is a constraint longer than what can be parsed at once, if n is large enough.
func manyTerms(n int) (c addrs.ProviderConstraint) {
	for i := range n {
		c = c.And(addrs.MustParseProviderConstraint(fmt.Sprintf("!= 1.0.%d", i)))
	}
	return c
}

// TestMergeRefuses also makes sure that a refusal changes nothing.
func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	none := addrs.ProviderConstraint{}
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
		{"constraint to a version of a module", alpha, v1, addrs.ExactProviderConstraint(addrs.MustParseModuleVersion("1.2.3.4")), true},
		{"constraint of too many terms", alpha, v1, manyTerms(500), true},
	} {
		f := parse(t, canonical)
		err := f.Merge(tt.p, tt.v, tt.c, report(zh1))
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
	if err := f.Set(lockfile.Entry{Provider: alpha, Version: v1, Hashes: given}); err != nil {
		t.Fatal(err)
	}
	if got := f.Accept(alpha, v1); !slices.Equal(got, []checksum.Hash{zh1, zh2}) || given[0] != zh2 {
		t.Errorf("got %v of %v", got, given)
	}
	if err := f.Set(lockfile.Entry{Provider: alpha, Version: v1}); err != nil || f.Covers(alpha, v1) {
		t.Errorf("%v, or the old hashes are still there", err)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	f := parse(t, canonical)
	if !f.Delete(alpha) || f.Delete(alpha) || f.Len() != 1 {
		t.Errorf("left\n%s", f.Bytes())
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
}
