package lockfile_test

import (
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/lockfile"
)

// TestUnreadableVersionCovers: an entry whose version cannot be read covers every version, and hashes in a
// second block count as unreadable.
func TestUnreadableVersionCovers(t *testing.T) {
	t.Parallel()
	begin := "provider \"" + alpha.String() + "\" {\n"
	for src, want := range map[string]int{
		begin + "  version = \"1.0.0 \"\n  " + hashes.Replace(`hashes = ["ZH1"]`) + "\n}\n":                                       1,
		begin + "  " + hashes.Replace(`hashes = ["ZH1"]`) + "\n}\n":                                                               1,
		begin + "  version = \"1.0.0\"\n}\n" + begin + "  version = \"1.0.0\"\n  " + hashes.Replace(`hashes = ["ZH1"]`) + "\n}\n": 0,
	} {
		f := parseLenient(t, src)
		if got := f.Accept(alpha, v1); !f.Covers(alpha, v1) || len(got) != want {
			t.Errorf("%s: Covers returned %v and Accept %v, want true and %d hashes", src, f.Covers(alpha, v1), got, want)
		}
		if string(f.Bytes()) != src {
			t.Errorf("%s: it became\n%s", src, f.Bytes())
		}
	}
	if f := parseLenient(t, begin+"  version = \"x\"\n}\n"); f.Covers(alpha, v1) {
		t.Error("an entry without hashes covers a version")
	}
}

// TestUnreadableHashesCover: an entry whose hashes cannot be read covers its version and
// accepts nothing, until its hashes are replaced.
func TestUnreadableHashesCover(t *testing.T) {
	t.Parallel()
	for _, argument := range []string{
		`hashes = ["zh:123"]`, `hashes = []`, `hashes = toset(["ZH1"])`, `hashes = "ZH1"`, `hashes = ["${zh}"]`,
		`hashes = local.hashes`, `hashes = [null, "h1:"]`, "hashes = [\"zh:123\"]\n  hashes = [\"ZH1\"]",
	} {
		f := parseLenient(t, "provider \""+alpha.String()+"\" {\n  version = \"1.0.0\"\n  "+hashes.Replace(argument)+"\n}\n")
		src := string(f.Bytes())
		if got := f.Accept(alpha, v1); !f.Covers(alpha, v1) || got == nil || len(got) > 0 {
			t.Errorf("%s: Covers returned %v and Accept %#v, want true and an empty list", argument, f.Covers(alpha, v1), got)
		}
		if f.Covers(alpha, v2) || f.Covers(beta, v1) {
			t.Errorf("%s: Covers returned true for another version or provider", argument)
		}
		merge(t, f, alpha, v1, addrs.ProviderConstraint{})
		e, _ := f.Get(alpha)
		if err := f.Clone().Set(e); err != nil || !f.Covers(alpha, v1) || string(f.Bytes()) != src {
			t.Errorf("%s: merging nothing gave %v and\n%s", argument, err, f.Bytes())
		}

		known := f.Clone()
		merge(t, known, alpha, v1, addrs.ProviderConstraint{}, zh2)
		if got := known.Accept(alpha, v1); len(got) != 1 || got[0] != zh2 {
			t.Errorf("%s: after merging %v, Accept returned %v", argument, zh2, got)
		}
		other := f.Clone()
		merge(t, other, alpha, v2, addrs.ProviderConstraint{})
		if err := f.Set(lockfile.Entry{Provider: alpha, Version: v1}); err != nil {
			t.Fatal(err)
		}
		if other.Covers(alpha, v2) || f.Covers(alpha, v1) || strings.Contains(string(f.Bytes()), "hashes") {
			t.Errorf("%s: an entry that was replaced still covers its version:\n%s", argument, f.Bytes())
		}
	}
}
