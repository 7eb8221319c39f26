package lockfile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify/checksum"
)

// hashes puts real hashes in the place of their names.
var hashes = strings.NewReplacer("ZH1", zh1.String(), "ZH2", zh2.String(), "ZH3", zh3.String())

// edited are files that people have written into, with what becomes of them when
// the hash zh:…2 is added to alpha.
var edited = []struct{ name, src, want string }{
	{
		"comments everywhere",
		`// by hand
# pinned
provider /* a */ "registry.example.com/acme/alpha" { # b

  # c
  version = "1.0.0" # d
  constraints = "^1" // cannot be read

  hashes = [ # g
    # one
    "ZH1", # h
    # three
    "ZH3" # i
    # j
  ] # k
  # l
} # m
# n
`,
		`// by hand
# pinned
provider "registry.example.com/acme/alpha" {
  version     = "1.0.0"
  constraints = "^1"
  hashes = [
    "ZH1",
    "ZH2",
    "ZH3",
  ]
} # m
# n
`,
	},
	{
		"not canonical",
		`provider "Registry.Example.com/acme/ALPHA" {
version="1"
	constraints = ">=1"
	hashes = ["ZH3", "ZH3"]
}
`,
		`provider "registry.example.com/acme/alpha" {
  version     = "1.0.0"
  constraints = ">= 1.0.0"
  hashes = [
    "ZH2",
    "ZH3",
  ]
}
`,
	},
	{
		"no hashes, CRLF",
		"module \"x\" {\r\n  y {\r\n    z = [\r\n{}\r\n]\r\n  }\r\n}\r\nprovider \"registry.example.com/acme/alpha\" {\r\n  version = \"1.0.0\"\r\n}\r\n",
		"module \"x\" {\r\n  y {\r\n    z = [\r\n{}\r\n]\r\n  }\r\n}\r\nprovider \"registry.example.com/acme/alpha\" {\r\n  version = \"1.0.0\"\r\n  hashes = [\r\n    \"ZH2\",\r\n  ]\r\n}\r\n",
	},
	{
		"not there",
		"# top\n\nmodule \"x\" {\n}",
		"# top\n\nmodule \"x\" {\n}\n\nprovider \"registry.example.com/acme/alpha\" {\n  version = \"1.0.0\"\n  hashes = [\n    \"ZH2\",\n  ]\n}\n",
	},
	{
		"in front",
		"provider \"registry.example.com/acme/beta\" {\n  version = \"1.0.0\"\n}\n",
		"provider \"registry.example.com/acme/alpha\" {\n  version = \"1.0.0\"\n  hashes = [\n    \"ZH2\",\n  ]\n}\n\nprovider \"registry.example.com/acme/beta\" {\n  version = \"1.0.0\"\n}\n",
	},
}

func TestLenientEdits(t *testing.T) {
	t.Parallel()
	for _, tt := range edited {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := parseLenient(t, hashes.Replace(tt.src))
			e, _ := f.Get(alpha)
			merge(t, f, alpha, v1, e.Constraints, zh2)
			if got := string(f.Bytes()); got != hashes.Replace(tt.want) {
				t.Errorf("got\n%s\nwant\n%s", got, hashes.Replace(tt.want))
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

// damaged are files that may have hid the hash ZH1 of alpha 1.0.0 from the parser.
var damaged = map[string]struct {
	src      string
	versions []addrs.Version // that are covered
	others   bool            // other providers are covered
}{
	"hash":                  {block(`version = "1.0.0"`, `hashes = ["zh:123"]`), only1, false},
	"one of several hashes": {block(`version = "1.0.0"`, `hashes = ["ZH2", "zh:123"]`), only1, false},
	"empty list":            {block(`version = "1.0.0"`, `hashes = []`), only1, false},
	"call":                  {block(`version = "1.0.0"`, `hashes = toset(["ZH1"])`), only1, false},
	"text":                  {block(`version = "1.0.0"`, `hashes = "ZH1"`), only1, false},
	"reference":             {block(`version = "1.0.0"`, `hashes = local.hashes`), only1, false},
	"null":                  {block(`version = "1.0.0"`, `hashes = [null, "h1:"]`), only1, false},
	"hashes twice":          {block(`version = "1.0.0"`, `hashes = ["zh:123"]`, `hashes = ["ZH1"]`), only1, false},
	"misspelt":              {block(`version = "1.0.0"`, `hashs = ["ZH1"]`), only1, false},
	"upper case":            {block(`version = "1.0.0"`, `Hashes = ["ZH1"]`), only1, false},
	"block":                 {block(`version = "1.0.0"`, `hashes {`, `}`), only1, false},
	"constraints twice":     {block(`version = "1.0.0"`, `constraints = "1"`, `constraints = "2"`), only1, false},
	"second block":          {block(`version = "1.0.0"`) + block(`version = "1.0.0"`, `hashes = ["ZH1"]`), only1, false},
	"second block, damaged": {block(`version = "1.0.0"`, `hashes = ["ZH2"]`) + block(`version = "1.0.0"`, `hashs = ["ZH1"]`), only1, false},
	"another version":       {block(`version = "2.0.0-rc.1+meta"`) + block(`version = "1.0.0"`, `hashes = ["ZH1"]`), all, false},
	"versions":              {block(`version = "2.0.0-rc.1+meta"`, `version = "1.0.0"`, `hashes = ["ZH1"]`), all, false},
	"version":               {block(`version = "1.0.0 "`, `hashes = ["ZH1"]`), all, false},
	"no version":            {block(`hashes = ["ZH1"]`), all, false},
	"version alone":         {block(`version = "x"`), all, false},
	"empty block":           {block(), all, false},

	"outside of the block": {block(`version = "1.0.0"`) + "hashes = [\"ZH1\"]\n", all, true},
	"name of the block":    {"P" + block(`version = "1.0.0"`, `hashes = ["ZH1"]`)[1:], all, true},
	"unknown block":        {block(`version = "1.0.0"`, `hashes = ["ZH2"]`) + "future {\n}\n", all, true},
	"two labels":           {strings.Replace(block(`version = "1.0.0"`, `hashes = ["ZH1"]`), " {", " \"b\" {", 1), all, true},
	"no label":             {"provider {\n}\n", all, true},
	"label":                {strings.Replace(block(`version = "1.0.0"`, `hashes = ["ZH1"]`), "acme/", "acme//", 1), all, true},
	"label of another":     {block(`version = "1.0.0"`, `hashes = ["ZH2"]`) + "provider \"a/b/c/d\" {\n}\n", all, true},
}

var (
	only1 = []addrs.Version{v1}
	all   = []addrs.Version{v1, v2}
)

// TestUnreadable: content that cannot be explained covers the versions whose hashes it may hide, and
// accepts no package. Merge adds nothing to them.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	none := addrs.ProviderConstraint{}
	for name, test := range damaged {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := hashes.Replace(test.src)
			f := parseLenient(t, src)
			for _, v := range all {
				want := slices.Contains(test.versions, v)
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
			if got := f.Covers(beta, v1); got != test.others {
				t.Errorf("Covers(beta) = %v, want %v", got, test.others)
			}
			if err := f.Merge(beta, v1, none, []checksum.Hash{zh2}); errors.Is(err, lockfile.ErrUnreadable) != test.others {
				t.Errorf("Merge(beta) returned %v, want ErrUnreadable %v", err, test.others)
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
			if again := parseLenient(t, string(f.Bytes())); again.Covers(alpha, v1) != test.others {
				t.Errorf("read back, Covers(alpha) = %v:\n%s", !test.others, f.Bytes())
			}
			f.Delete(alpha)
			if f.Covers(alpha, v1) != test.others {
				t.Errorf("after Delete, Covers(alpha) = %v", !test.others)
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
