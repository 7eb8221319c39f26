package lockfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/verify/checksum"
)

const (
	one    = "h1:8QKBrlOi/bB0GM3SkD/pOU5kZIzBhOHA4DrQ4E3Dhmk="
	two    = "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	commit = "0123456789abcdef0123456789abcdef01234567"
	first  = `{"module_lock":1}` + "\n"
	vpc    = `{"source":"acme/vpc/aws","constraint":"~> 5.0","version":"5.1.0","hash":"` + one + `"}` + "\n"
	git    = `{"source":"git::https://git.example.com/a.git?ref=v1","commit":"` + commit + `","hash":"` + two + `"}` + "\n"
	values = `{"source":"\"git::https://git.example.com/${var.name}\"","evaluated":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","commit":"` + commit + `","hash":"` + two + `"}` + "\n"
)

func parse(t testing.TB, text string) *lockfile.File {
	t.Helper()
	f := must.Get(lockfile.Parse([]byte(text), "x.lock"))(t)
	return f
}

func keyOf(t testing.TB, source, constraint string) lockfile.Key {
	t.Helper()
	k := must.Get(lockfile.KeyOf(source, constraint))(t)
	return k
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{first + values + vpc + git, first} {
		if got := string(parse(t, text).Bytes()); got != text {
			t.Errorf("Bytes of\n%s\nis\n%s", text, got)
		}
	}
	// Lines of two branches, and a checkout with other line ends.
	for _, text := range []string{first + git + vpc, first + vpc + git + vpc, strings.ReplaceAll(first+vpc+git, "\n", "\r\n"), strings.TrimSuffix(first+vpc+git, "\n")} {
		data := []byte(text)
		if got := string(must.Get(lockfile.Parse(data, "x.lock"))(t).Bytes()); got != first+vpc+git || string(data) != text {
			t.Errorf("Bytes of\n%s\nis\n%s, and Parse left the text as\n%q", text, got, data)
		}
	}
	for _, c := range casetest.Read[struct {
		Name, Text, Reason string
		Line               int
	}](t, "refused.txt") {
		_, err := lockfile.Parse([]byte(c.Text), "x.lock")
		if _, reason, ok := strings.Cut(fmt.Sprint(err), fmt.Sprintf("module lock file x.lock:%d: ", c.Line)); !ok || !strings.Contains(reason, c.Reason) {
			t.Errorf("Parse with %s: %v, want an error about line %d of x.lock with %q", c.Name, err, c.Line, c.Reason)
		}
	}
}

// TestSize: 16 MiB are allowed.
func TestSize(t *testing.T) {
	t.Parallel()
	long := func(size int) string {
		text := first + vpc
		return strings.Replace(text, "acme/vpc/aws", strings.Repeat("x", size-len(text)+len("acme/vpc/aws")), 1)
	}
	path := filepath.Join(t.TempDir(), lockfile.Name)
	for size, want := range map[int]error{16 << 20: nil, 16<<20 + 1: failure.ErrTooLarge} {
		must.Do(t, os.WriteFile(path, []byte(long(size)), 0o644))
		if _, err := lockfile.Load(path); !errors.Is(err, want) {
			t.Errorf("Load of %d bytes: %v, want %v", size, err, want)
		}
	}
}

func TestKeyOf(t *testing.T) {
	t.Parallel()
	const like = "awslandingzonev2network" // a token
	for source, want := range casetest.Pairs(t, "keys.txt") {
		k, err := lockfile.KeyOf(source, "1.0.0")
		if err != nil || strings.Contains(k.Source, "secret") || k.Source != want {
			t.Errorf("KeyOf(%q): %+v, %v; want %q", source, k, err, want)
		}
		if again := keyOf(t, k.Source, "1.0.0"); again != k {
			t.Errorf("KeyOf(%q): %+v, want the same", k.Source, again)
		}
	}
	for source, want := range map[string]string{"github.com/acme/" + like: "github.com/acme/... 1.0", "git::https://git.example.com/a.git?ref=v1": "git::https://git.example.com/a.git?ref=v1 1.0"} {
		if got := keyOf(t, source, "1.0").String(); got != want {
			t.Errorf("String of the key of %q: %q, want %q", source, got, want)
		}
	}
	for _, source := range []string{"./x", "../x", "/x", "file:///x"} {
		if _, err := lockfile.KeyOf(source, ""); !errors.Is(err, lockfile.ErrLocal) {
			t.Errorf("KeyOf(%q): %v, want ErrLocal", source, err)
		}
	}
	if _, err := lockfile.KeyOf("", ""); err == nil {
		t.Error("KeyOf of an empty source returned no error")
	}
}

// TestWithValues: the key tells values apart and does not contain them.
func TestWithValues(t *testing.T) {
	t.Parallel()
	text := `"git::https://u:never-shown@git.example.com/${var.name}?token=never-shown"`
	a := keyOf(t, "git::https://git.example.com/never-shown-a", "").WithValues(text, "var.v")
	b := keyOf(t, "git::https://git.example.com/never-shown-b", "").WithValues(text, "var.v")
	c := keyOf(t, "git::https://user@git.example.com/never-shown-b", "").WithValues(text, "var.v")
	if a == b || a.Source != b.Source || a.Constraint != "var.v" || strings.Contains(a.Source+a.Evaluated, "never-shown") || c.Evaluated == "" {
		t.Errorf("keys\n%+v\n%+v\n%+v", a, b, c)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	f := parse(t, first+vpc+git)
	locked := slices.Collect(f.All())
	for _, e := range locked {
		if got, ok := f.Get(e.Key); !ok || got != e {
			t.Errorf("Get(%v): %v, %t", e.Key, got, ok)
		}
		if err := e.Check(e); err != nil {
			t.Errorf("Check of the same: %v", err)
		}
	}
	moved, other, unknown := locked[1], locked[1], locked[1]
	moved.Commit = strings.Replace(commit, "0", "f", 1)
	other.Hash = checksum.MustParseHash(one)
	unknown.Commit = ""
	neither := other
	neither.Commit = ""
	version := locked[0]
	version.Version = addrs.MustParseVersion("5.2.0")
	if err := locked[1].Check(unknown); err != nil {
		t.Errorf("without a commit: %v", err)
	}
	for name, c := range map[string]struct {
		locked, found lockfile.Entry
		texts         []string
	}{
		"moved tag":     {locked[1], moved, []string{commit, moved.Commit, "upgrade"}},
		"other content": {locked[1], other, []string{one, two}},
		"other version": {locked[0], version, []string{"5.1.0", "5.2.0"}},
		"no commit":     {locked[1], neither, []string{one, two}},
		"new commit":    {neither, locked[1], []string{one, commit}},
	} {
		err := c.locked.Check(c.found)
		e, ok := errors.AsType[*lockfile.ChangedError](err)
		if !ok || e.Locked != c.locked || e.Found != c.found || !errors.Is(err, checksum.ErrMismatch) {
			t.Errorf("%s: %v, want a ChangedError", name, err)
		}
		for _, text := range c.texts {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %q in it", name, err, text)
			}
		}
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	f := parse(t, first+git+vpc+vpc)
	if got := string(f.Bytes()); got != first+vpc+git {
		t.Errorf("lines in another order, one of them twice:\n%s", got)
	}
	all := f.All()
	removed := f.Keep(slices.Values([]lockfile.Key{keyOf(t, "git::https://git.example.com/a.git?ref=v1", "")}))
	if len(removed) != 1 || removed[0].Key.Source != "acme/vpc/aws" || string(f.Bytes()) != first+git || len(slices.Collect(all)) != 1 {
		t.Errorf("Keep removed %v and left\n%s", removed, f.Bytes())
	}
	for _, e := range []lockfile.Entry{{}, {Key: lockfile.Key{Source: "\xff"}, Hash: checksum.MustParseHash(one)}, {Key: keyOf(t, "acme/vpc/aws", "")}} {
		if err := f.Set(e); err == nil {
			t.Errorf("Set(%+v) returned no error", e)
		}
	}
}

func TestSave(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), lockfile.Name)
	f, err := lockfile.Load(path)
	if err != nil || f.Len() != 0 {
		t.Fatalf("Load of no file: %v, %v", f, err)
	}
	if err := f.Save(path); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file without entries: %v, want none", err)
	}
	must.Do(t, parse(t, first+vpc).Save(path))
	if f, err = lockfile.Load(path); err != nil || string(f.Bytes()) != first+vpc {
		t.Errorf("Load of what was saved: %v, %v", f, err)
	}
	// The mode stays, an unchanged file is not written again, and parts of killed processes go.
	part := must.Get(fsx.CreatePart(path, 0o600))(t)
	must.Do(t, errors.Join(part.File.Close(), os.WriteFile(path, []byte(strings.ReplaceAll(first+vpc, "\n", "\r\n")), 0o644), os.Chmod(path, 0o666)))
	before := must.Get(os.Stat(path))(t)
	for _, text := range []string{first + vpc, first} {
		must.Do(t, parse(t, text).Save(path))
		after := must.Get(os.Stat(path))(t)
		if os.SameFile(before, after) != (text == first+vpc) || after.Mode() != before.Mode() {
			t.Errorf("Save of\n%s\nkept the file: %t, mode %v", text, os.SameFile(before, after), after.Mode())
		}
	}
	if entries := must.Get(os.ReadDir(filepath.Dir(path)))(t); len(entries) != 1 {
		t.Errorf("beside the part of a killed process, Save left %v, want only the file", entries)
	}
	if _, err := lockfile.Load(filepath.Dir(path)); err == nil {
		t.Error("Load of a directory returned no error")
	}
}

// FuzzParse: what is accepted is written as it was read, but for order, repeated lines and line ends.
func FuzzParse(f *testing.F) {
	for _, text := range []string{first, first + vpc + git + values, first + git + vpc + vpc, first + "<<<<<<< x\n", strings.ReplaceAll(first+vpc, "\n", "\r\n")} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := lockfile.Parse(data, "x.lock")
		if err != nil {
			return
		}
		text := file.Bytes()
		again, err := lockfile.Parse(text, "x.lock")
		if err != nil || string(again.Bytes()) != string(text) {
			t.Fatalf("Parse of\n%s\nreturned %v, %v", text, again, err)
		}
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(string(data), strings.TrimSpace(line)) {
				t.Errorf("%q was not in the file", line)
			}
		}
	})
}
