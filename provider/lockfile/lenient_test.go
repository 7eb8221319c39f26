package lockfile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify/checksum"
)

// hashes puts real hashes in the place of their names.
var hashes = strings.NewReplacer("ZH1", zh1.String(), "ZH2", zh2.String(), "ZH3", zh3.String())

// TestLenientEdits has files that people have written into, with what becomes of them when the hash zh:…2 is added to alpha.
func TestLenientEdits(t *testing.T) {
	t.Parallel()
	for tt := range slices.Chunk(casetest.Sections(t, "edited.txt"), 2) {
		t.Run(tt[0].Name, func(t *testing.T) {
			t.Parallel()
			f, want := parseLenient(t, hashes.Replace(tt[0].Text)), hashes.Replace(tt[1].Text)
			e, _ := f.Get(alpha)
			merge(t, f, alpha, v1, e.Constraints, zh2)
			if got := string(f.Bytes()); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestUnreadableConstraint: it stays until it is replaced or its entry is deleted, and does not come back.
func TestUnreadableConstraint(t *testing.T) {
	t.Parallel()
	src := block(`version = "1.0.0"`, `constraints = "^1"`)
	entry := lockfile.Entry{Provider: alpha, Version: v1}
	for name, test := range map[string]struct {
		change func(*lockfile.File)
		stays  bool
	}{
		"set":      {func(*lockfile.File) {}, true},
		"deleted":  {func(f *lockfile.File) { f.Delete(alpha) }, false},
		"kept":     {func(f *lockfile.File) { f.Keep(slices.Values([]addrs.Provider{beta})) }, false},
		"replaced": {func(f *lockfile.File) { merge(t, f, alpha, v1, constraint("1.0")) }, false},
	} {
		f := parseLenient(t, src)
		clone := f.Clone()
		test.change(f)
		must.Do(t, f.Set(entry))
		if got := strings.Contains(string(f.Bytes()), "^1"); got != test.stays || string(clone.Bytes()) != src {
			t.Errorf("%s: the constraint stays: %t, want %t; the clone is\n%s", name, got, test.stays, clone.Bytes())
		}
	}
}

// TestUnreadable has files that may hide the hash ZH1 of alpha 1.0.0. Content that cannot be explained covers the versions whose
// hashes it may hide, and accepts no package. Merge adds nothing to them.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	none := addrs.ProviderConstraint{}
	for _, test := range casetest.Sections(t, "damaged.txt") {
		name, hides, _ := strings.Cut(test.Name, " hides ")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, others := hashes.Replace(test.Text), hides == "all providers"
			f := parseLenient(t, src)
			for _, v := range []addrs.Version{v1, v2} {
				want := v == v1 || hides != "1.0.0"
				if got := f.Covers(alpha, v); got != want {
					t.Errorf("Covers(alpha, %s) = %v, want %v", v, got, want)
				}
				if got := f.Accept(alpha, v); got.IsZero() || len(got.Hashes()) > 0 {
					t.Errorf("Accept(alpha, %s) = %#v, want a Set without hashes", v, got)
				}
				if got := f.Clone().Merge(alpha, v, none, nil); errors.Is(got, lockfile.ErrUnreadable) != want {
					t.Errorf("Merge(alpha, %s) returned %v, want ErrUnreadable %v", v, got, want)
				}
			}
			for _, more := range [][]checksum.Hash{nil, {zh2}} {
				if err := f.Merge(alpha, v1, none, more); !errors.Is(err, lockfile.ErrUnreadable) || !strings.Contains(err.Error(), "File.Set") {
					t.Errorf("Merge(alpha) returned %v, want ErrUnreadable and a remedy", err)
				}
			}
			if got := f.Covers(beta, v1); got != others {
				t.Errorf("Covers(beta) = %v, want %v", got, others)
			}
			if err := f.Merge(beta, v1, none, []checksum.Hash{zh2}); errors.Is(err, lockfile.ErrUnreadable) != others {
				t.Errorf("Merge(beta) returned %v, want ErrUnreadable %v", err, others)
			}
			f.Delete(beta)
			e, locked := f.Get(alpha)
			if err := f.Set(e); locked && !errors.Is(err, lockfile.ErrUnreadable) {
				t.Errorf("Set of the unreadable entry returned %v, want ErrUnreadable", err)
			}
			if string(f.Bytes()) != src {
				t.Errorf("the file became\n%s", f.Bytes())
			}
			if err := f.Set(lockfile.Entry{Provider: alpha, Version: v1}); err != nil || f.Covers(alpha, v1) || strings.Contains(string(f.Bytes()), "ZH1") {
				t.Errorf("Set returned %v, Covers %v:\n%s", err, f.Covers(alpha, v1), f.Bytes())
			}
			if again := parseLenient(t, string(f.Bytes())); again.Covers(alpha, v1) != others {
				t.Errorf("read back, Covers(alpha) = %v:\n%s", !others, f.Bytes())
			}
			f.Delete(alpha)
			if f.Covers(alpha, v1) != others {
				t.Errorf("after Delete, Covers(alpha) = %v", !others)
			}
		})
	}
}

// TestUnreadableFileMigrates: an entry that Migrate adds to a file with unknown content is unreadable too.
func TestUnreadableFileMigrates(t *testing.T) {
	t.Parallel()
	f := parseLenient(t, "provider \"registry.terraform.io/hashicorp/a\" {\n  version = \"1.0.0\"\n}\nfuture {\n}\n")
	if added := f.Migrate(); len(added) != 1 || !f.Covers(added[0], v1) {
		t.Errorf("Migrate added %v, want an entry that covers its version", added)
	}
}
