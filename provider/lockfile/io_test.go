package lockfile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
)

var loaders = map[string]func(string) (*lockfile.File, error){"strict": lockfile.Load, "lenient": loadLenient}

// loadLenient loads a file as UpdateLenient does.
func loadLenient(path string) (f *lockfile.File, err error) {
	err = lockfile.UpdateLenient(context.Background(), path, func(loaded *lockfile.File) (*lockfile.File, error) {
		f = loaded
		return nil, nil
	})
	return f, err
}

func TestLoadAndSave(t *testing.T) {
	t.Parallel()
	for name, load := range loaders {
		path := filepath.Join(t.TempDir(), lockfile.Name)
		f, err := load(path)
		if err != nil || f.Len() != 0 {
			t.Fatalf("%s: %v for a file that does not exist", name, err)
		}
		f.Header = lockfile.HeaderTerraform
		for e := range parse(t, canonical).All() {
			must.Do(t, f.Set(e))
		}
		must.Do(t, f.Save(path))
		if data, err := os.ReadFile(path); err != nil || string(data) != canonical {
			t.Errorf("%s: %v, saved\n%s", name, err, data)
		}
		if f, err = load(path); err != nil || string(f.Bytes()) != canonical {
			t.Errorf("%s: %v, loaded\n%s", name, err, f.Bytes())
		}
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(entries) != 1 {
			t.Errorf("%s: %v, left behind %v", name, err, entries)
		}
	}
}

// TestLoadExisting: for programs that only read, a missing file is an error, and an empty one is not.
func TestLoadExisting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), lockfile.Name)
	f, err := lockfile.LoadExisting(path)
	if _, ok := errors.AsType[*fs.PathError](err); f != nil || !errors.Is(err, fs.ErrNotExist) || !ok || !strings.Contains(err.Error(), path) {
		t.Errorf("LoadExisting of a missing file returned %v, %v, want fs.ErrNotExist and the path", f, err)
	}
	for _, text := range []string{"", canonical} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		if f, err := lockfile.LoadExisting(path); err != nil || !f.Equal(parse(t, text)) {
			t.Errorf("LoadExisting returned %v, want the File with\n%s", err, text)
		}
	}
	must.Do(t, os.WriteFile(path, []byte("<<<<<<< HEAD\n"), 0o600))
	if _, err := lockfile.LoadExisting(path); err == nil || !strings.HasPrefix(err.Error(), path+":1:1: ") {
		t.Errorf("LoadExisting of a bad file returned %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, data, 0o600))
		return path
	}
	large := write("large", bytes.Repeat([]byte("\n"), 16<<20+1))
	bad := write("bad", []byte("<<<<<<< HEAD\n"))
	for name, load := range loaders {
		if _, err := load(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s, directory: %v", name, err)
		}
		if _, err := load(large); !errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("%s, large: %v", name, err)
		}
		if _, err := load(bad); err == nil || !strings.HasPrefix(err.Error(), bad+":1:1: ") {
			t.Errorf("%s, bad: %v", name, err)
		}
		if _, err := load(filepath.Join(bad, "below")); err == nil && runtime.GOOS != "windows" {
			t.Errorf("%s: no error for a path through a file", name)
		}
	}
}

func TestSaveMode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // it has no such modes
	}
	path := filepath.Join(t.TempDir(), lockfile.Name)
	f := parse(t, canonical)
	save := func(want fs.FileMode) {
		t.Helper()
		must.Do(t, f.Save(path))
		if info, err := os.Lstat(path); err != nil || info.Mode()&^0o022 != want&^0o022 || want&0o022 != 0 && info.Mode() != want {
			t.Errorf("mode %v, %v; want %v", info.Mode(), err, want)
		}
	}
	save(0o644)
	for _, mode := range []fs.FileMode{0o600, 0o666, 0o640} {
		must.Do(t, os.Chmod(path, mode))
		merge(t, f, beta, v1, addrs.ProviderConstraint{}, zh(int(mode)))
		save(mode)
	}
}

func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := parse(t, canonical)
	if err := f.Save(dir); err == nil || !strings.HasPrefix(err.Error(), "write lock file: ") {
		t.Errorf("%v for a directory", err)
	}
	if err := f.Save(filepath.Join(dir, "none", lockfile.Name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v without a directory", err)
	}
}

// TestSaveSweeps: what a process has left that was killed while it wrote is removed by the
// next one that writes, and nothing else.
func TestSaveSweeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{".tofureg", "main.tf"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	path := filepath.Join(dir, lockfile.Name)
	must.Do(t, must.Get(fsx.CreatePart(path, 0o600))(t).File.Close()) // as if its process were killed
	must.Do(t, parse(t, canonical).Save(path))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 || entries[0].Name() != lockfile.Name || entries[1].Name() != ".tofureg" {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestSaveSaysTheSame: a file that says the same is not touched, and one without entries is
// not made.
func TestSaveSaysTheSame(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), lockfile.Name)
	for name, load := range loaders {
		f := must.Get(load(path))(t)
		must.Do(t, f.Save(path))
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: Save of an empty File made a file: %v", name, err)
		}
	}
	commented := strings.Replace(canonical, "  version ", "  # pinned\n  version ", 1)
	commented = strings.Replace(commented, lockfile.HeaderTerraform, lockfile.HeaderOpenTofu, 1)
	must.Do(t, os.WriteFile(path, []byte(commented), 0o600))
	for name, change := range map[string]func(*lockfile.File){
		"nothing":     func(*lockfile.File) {},
		"no header":   func(f *lockfile.File) { f.Header = "" }, // stands for HeaderOpenTofu
		"hashes":      func(f *lockfile.File) { merge(t, f, alpha, v1, constraint(">= 0.9.0, < 2.0.0"), zh3) },
		"constraints": func(f *lockfile.File) { merge(t, f, alpha, v1, constraint("~> 1.0")) },
		"version":     func(f *lockfile.File) { merge(t, f, alpha, v2, constraint("~> 1.0")) },
		"header":      func(f *lockfile.File) { f.Header = lockfile.HeaderTerraform },
		"removed":     func(f *lockfile.File) { f.Keep(func(func(addrs.Provider) bool) {}) },
	} {
		f := must.Get(lockfile.Load(path))(t)
		change(f)
		saved := filepath.Join(t.TempDir(), lockfile.Name)
		must.Do(t, os.WriteFile(saved, []byte(commented), 0o600))
		open := must.Get(os.Open(saved))(t) // os.Stat on Windows looks for the identity of a file later
		before, err := open.Stat()
		must.Do(t, errors.Join(err, open.Close(), f.Save(saved)))
		after := must.Get(os.Stat(saved))(t)
		unchanged := name == "nothing" || name == "no header"
		if same := os.SameFile(before, after); same != unchanged {
			t.Errorf("%s changed: Save kept the file: %v", name, same)
		}
		want := string(f.Bytes())
		if unchanged {
			want = commented
		}
		if data, err := os.ReadFile(saved); err != nil || string(data) != want {
			t.Errorf("%s changed: Save wrote %v\n%s\nwant\n%s", name, err, data, want)
		}
	}
}

// TestReadsWhatClientsWrite has the clients write lock files, which this package then
// writes again byte for byte. With wrong hashes in them, the clients refuse the packages. What this
// package writes for several platforms is compared in package install.
func TestReadsWhatClientsWrite(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		reg := regtest.New("registry.example.com")
		server := must.Get(reg.ServeTLS())(t)
		t.Cleanup(server.Close)
		p := terraformtest.New(t, program)
		p.Trust(t, server.CertPEM)
		required := ""
		for _, r := range []struct{ name, version, constraint string }{
			{"acme/alpha", "1.2.3", `version = "~>1.2"`}, {"acme/beta", "2.0.0-rc.1+meta", `version = "2.0.0-rc.1+meta"`}, {"zeta/alpha", "0.1.0", ""},
		} {
			reg.AddProvider(regtest.Provider{Address: r.name, Version: r.version, Platforms: []string{addrs.CurrentPlatform().String(), "plan9_mips", "linux_arm64"}})
			required += fmt.Sprintf("    %s = {\n      source = %q\n      %s\n    }\n", strings.ReplaceAll(r.name, "/", "-"), server.Addr+"/"+r.name, r.constraint)
		}
		p.Write(t, "main.tf", "terraform {\n  required_providers {\n"+required+"  }\n}\n")
		for _, args := range [][]string{{"init", "-no-color", "-input=false"}, {"providers", "lock", "-platform=plan9_mips", "-platform=linux_arm64"}} {
			p.Run(t, args...)
			checkSame(t, p.Read(t, lockfile.Name))
		}
		f := parse(t, p.Read(t, lockfile.Name))
		for e := range f.All() {
			e.Hashes = []checksum.Hash{zh1}
			must.Do(t, f.Set(e))
		}
		must.Do(t, f.Save(filepath.Join(p.Dir, lockfile.Name)))
		if out, err := p.Try(t, "init", "-no-color", "-input=false"); err == nil || !strings.Contains(out, "checksum") {
			t.Errorf("wrong hashes: %v\n%s", err, out)
		}
	})
}

func checkSame(t *testing.T, src string) {
	t.Helper()
	f := parse(t, src)
	if got := string(f.Bytes()); got != src || f.Len() != 3 {
		t.Errorf("read\n%s\nwrote\n%s", src, got)
	}
	if got := string(parseLenient(t, src).Bytes()); got != src {
		t.Errorf("lenient read\n%s\nwrote\n%s", src, got)
	}
	checkLenient(t, src)
}

// TestAsStrictAsClients compares which files the clients and this package refuse. The clients accept the
// differences in the package comment.
func TestAsStrictAsClients(t *testing.T) {
	t.Parallel()
	const block = "provider \"registry.example.com/acme/alpha\""
	stricter := []string{
		block + " {\n  version = \"${\"1.0.0\"}\"\n}\n", block + " {\n  version = \"1.0.0\"\n  hashes = [\"zh:x\"]\n}\n",
		strings.Replace(block, "example.com", "example.com.", 1) + " {\n  version = \"1.0.0\"\n}\n",
	}
	for _, bad := range []string{"zh:x", "h1:", "h1:short", "zh:" + strings.Repeat("A", 64)} {
		stricter = append(stricter, fmt.Sprintf("%s {\n  version = \"1.0.0\"\n  hashes = [\n    %q,\n    %q,\n  ]\n}\n", block, zh2, bad))
	}
	files := append([]string{
		block + " {\n  version = \"0.0.0\"\n}\n", block + " {\n  version = \"1.0.0\"\n  constraints = \"\"\n}\n",
		block + " {\n  version = \"1.0.0\"\n  constraints = \">= 1.0\"\n}\n", block + " {\n  version = \"1.0.0\"\n  constraints = \"~> 1.0, != 1.5.0\"\n}\n",
		block + " {\n  version = \"1.0.0\"\n  hashes = [\"a:b\", \"a:b\"]\n}\n", block + " {\n  version = \"1.0.0\"\n  hashes = [\"nothing\"]\n}\n",
		block + " {\n  version = \"1.0.0\"\n  hashes = [\"a:b\"\n  ,]\n}\n", block + " {\n  version = \"1.0.0\"\n}\n\n" + block + " {\n  version = \"1.0.0\"\n}\n",
		"module \"a\" {\n  x = 1\n}\n", "module {\n}\n", "module \"a\" \"b\" {\n}\n", block + " {\n  version = \"1.0.0\"\n  x {\n  }\n}\n",
	}, seeds...)
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := terraformtest.New(t, program)
		p.Write(t, "main.tf", "")
		for _, src := range append(slices.Clone(files), stricter...) {
			p.Write(t, lockfile.Name, src)
			out, theirs := p.Try(t, "init", "-no-color", "-input=false")
			if _, ours := lockfile.Parse([]byte(src), ""); (ours != nil) != (theirs != nil || slices.Contains(stricter, src)) || theirs != nil && slices.Contains(stricter, src) {
				t.Errorf("%q\nhere: %v\nthere: %v\n%s", src, ours, theirs, out)
			}
		}
	})
}
