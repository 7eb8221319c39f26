package manifest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module/manifest"
)

// create opens a data directory for changes until the end of the test.
func create(t *testing.T, data string) *manifest.Dir {
	t.Helper()
	d := must.Get(manifest.Create(t.Context(), data))(t)
	t.Cleanup(func() { d.Close(context.Background()) })
	return d
}

// stage stages a package with one file.
func stage(t *testing.T, d *manifest.Dir, key, text string) {
	t.Helper()
	name := must.Get(d.Stage(key))(t)
	must.Do(t, d.Root.Mkdir(name, 0o755))
	must.Do(t, d.Root.WriteFile(filepath.Join(name, "main.tf"), []byte(text), 0o644))
}

func TestDir(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), ".terraform")
	if d, err := manifest.Open(data); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("Open of a missing directory = %v, %v, want fs.ErrNotExist", d, err)
	}
	file := manifest.File{
		"":    {Dir: "."},
		"a":   {Key: "a", Source: "registry.opentofu.org/acme/a/aws", Version: "1.0.0", Dir: ".terraform/modules/a"},
		"a.b": {Key: "a.b", Source: "./b", Dir: ".terraform/modules/a/b"},
	}
	d := create(t, data)
	if got, err := d.Load(); err != nil || got == nil || len(got) != 0 {
		t.Errorf("Load without a manifest = %v, %v, want an empty File", got, err)
	}
	stage(t, d, "a", "# 1")
	must.Do(t, d.Commit(t.Context(), file))
	hash := must.Get(d.Hash(t.Context(), "a"))(t)
	stage(t, d, "a", "# 2")
	stage(t, d, "c", "# never committed")
	d.Close(t.Context())
	const text = `{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"a","Source":"registry.opentofu.org/acme/a/aws","Version":"1.0.0","Dir":".terraform/modules/a"},{"Key":"a.b","Source":"./b","Dir":".terraform/modules/a/b"}]}`
	if got, want := archivetest.Tree(t, data), (map[string]string{"modules/": "", "modules/a/": "", "modules/a/main.tf": "# 1", "modules/modules.json": text}); !reflect.DeepEqual(got, want) {
		t.Errorf("after Commit and Close there is\n%q, want\n%q", got, want)
	}

	d = must.Get(manifest.Open(data))(t)
	if got, err := d.Load(); err != nil || !reflect.DeepEqual(got, file) {
		t.Errorf("Load = %v, %v, want %v", got, err, file)
	}
	d.Close(t.Context())

	d = create(t, data)
	stage(t, d, "a", "# 2")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Commit(ctx, file); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit with an ended context = %v, want context.Canceled", err)
	}
	if got := must.Get(d.Hash(t.Context(), "a"))(t); got != hash {
		t.Errorf("after it the package is %v, want the old one, %v", got, hash)
	}
	must.Do(t, d.Commit(t.Context(), file))
	if got := must.Get(d.Hash(t.Context(), "a"))(t); got == hash {
		t.Error("Commit replaced no package")
	}
	file.Drop("a")
	if want := (manifest.File{"": {Dir: "."}}); !reflect.DeepEqual(file, want) {
		t.Errorf("Drop leaves %v, want %v", file, want)
	}
}

// TestDrop: modules are dropped with those that they call, and not others whose names begin as theirs.
func TestDrop(t *testing.T) {
	t.Parallel()
	file := manifest.File{}
	for _, key := range []string{"", "a", "a.b", "a.b.c", "a-b", "a/b", "ab", "b.a", "c.d", "c.d.e"} {
		file[key] = manifest.Record{Key: key}
	}
	file.Drop("a", "c.d", "c.d.e", "missing", "b")
	if got, want := slices.Sorted(maps.Keys(file)), []string{"", "a-b", "a/b", "ab"}; !slices.Equal(got, want) {
		t.Errorf("Drop leaves %q, want %q", got, want)
	}
}

// TestCommitFails: a package that was never made leaves a manifest without it and the modules that it calls.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	d := create(t, t.TempDir())
	stage(t, d, "a", "# 1")
	must.Do(t, d.Commit(t.Context(), manifest.File{"": {Dir: "."}, "a": {Key: "a"}, "a.b": {Key: "a.b"}}))
	must.Get(d.Stage("a"))(t)
	if err := d.Commit(t.Context(), manifest.File{"a": {Key: "a"}}); err == nil || !strings.Contains(err.Error(), `module "a"`) {
		t.Errorf("Commit of nothing = %v, want an error about module a", err)
	}
	if got, err := d.Load(); err != nil || len(got) != 1 {
		t.Errorf("after it the manifest is %v, %v, want the configuration alone", got, err)
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	d := create(t, t.TempDir())
	must.Do(t, errors.Join(d.Claim("network"), d.Claim("other")))
	if err := d.Claim("network"); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), `"network"`) {
		t.Errorf("Claim of a directory twice = %v, want fs.ErrExist with its name", err)
	}
	probe := t.TempDir()
	folds := errors.Join(os.Mkdir(filepath.Join(probe, "x"), 0o700), os.Mkdir(filepath.Join(probe, "X"), 0o700)) != nil
	if err := d.Claim("Other"); errors.Is(err, fs.ErrExist) != folds {
		t.Errorf("Claim of a name that differs in case = %v, want fs.ErrExist: %v", err, folds)
	}
	for _, key := range []string{"", ".", "..", "../x", "x/y", `x\y`, "/x", manifest.Name} {
		if err := d.Claim(key); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Claim(%q) = %v, want fs.ErrInvalid", key, err)
		}
		if name, err := d.Stage(key); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Stage(%q) = %q, %v, want fs.ErrInvalid", key, name, err)
		}
	}
}

// TestCreateWaits: two calls of Create exclude each other, and the second removes nothing that the first has staged.
func TestCreateWaits(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first := create(t, data)
	stage(t, first, "a", "# 1")
	done := make(chan error, 1)
	go func() {
		second, err := manifest.Create(t.Context(), data)
		if err == nil {
			_, err = second.Root.Stat("a") // was committed
			second.Close(t.Context())
		}
		done <- err
	}()
	must.Do(t, first.Commit(t.Context(), manifest.File{}))
	first.Close(t.Context())
	if err := <-done; err != nil {
		t.Errorf("the second Create = %v, want the package of the first", err)
	}
}

// TestEnds: with a context that has ended, nothing changes, and what Close leaves is removed by the next Create.
func TestEnds(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	d := create(t, data)
	stage(t, d, "a", "# 1")
	name := must.Get(d.Stage("b"))(t)
	must.Do(t, d.Root.Mkdir(name, 0o755))
	for i := range 200 {
		must.Do(t, d.Root.WriteFile(filepath.Join(name, fmt.Sprint(i)), nil, 0o644))
	}
	_, hashed := d.Hash(ended, name)
	committed := d.Commit(ended, manifest.File{})
	d.Close(ended)
	left := len(archivetest.Tree(t, data))
	_, created := manifest.Create(ended, data)
	for what, err := range map[string]error{"Hash": hashed, "Commit": committed, "Create": created} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want context.Canceled", what, err)
		}
	}
	if left < 50 {
		t.Errorf("Close left %d files, want that it stopped", left)
	}
	create(t, data).Close(t.Context())
	if got := archivetest.Tree(t, data); len(got) != 1 {
		t.Errorf("after the next Create there is %v, want the directory modules alone", got)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	const empty = `{"Modules":[]}`
	pad := func(n int) string { return empty + strings.Repeat(" ", n-len(empty)) }
	members := func(n int) string { return `{"Modules":[{}` + strings.Repeat(",{}", n-1) + "]}" }
	for name, c := range map[string]struct {
		text string
		n    int // records, or -1 for an error
	}{
		"null": {`{"Modules":null}`, 0}, "nothing": {"", -1}, "list": {"[]", -1}, "cut": {`{"Modules":[`, -1}, "invalid UTF-8": {"{\"Modules\":[{\"Key\":\"\xff\"}]}", -1}, "number": {`{"Modules":[{"Key":1}]}`, -1},
		"an unknown member": {`{"Modules":[{"Key":"a","New":true}]}`, 1},
		"one key twice":     {`{"Modules":[{"Key":"a"},{"Key":"a","Dir":"x"}]}`, 1},
		"8 MiB":             {pad(8 << 20), 0}, "8 MiB + 1": {pad(8<<20 + 1), -1},
		"100,000 commas": {members(100_001), 1}, "100,001 commas": {members(100_002), -1},
	} {
		got, err := manifest.Parse([]byte(c.text))
		if errors.Is(err, manifest.ErrSyntax) != (c.n < 0) || len(got) != max(0, c.n) {
			t.Errorf("Parse of %s: %d records, %v, want %d", name, len(got), err, c.n)
		}
	}
}

// FuzzParse: what Parse accepts is read back from the file that Commit writes.
func FuzzParse(f *testing.F) {
	f.Add(`{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"b","Source":"./b","Version":"1.0.0","Dir":"b"}]}`)
	f.Add(`{"Modules":[{"Key":"b","Dir":"../outside\u0000\ud800"},{"Key":"b.c","Source":"./c","Dir":"/"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := manifest.Parse([]byte(text))
		if err != nil {
			return
		}
		d := create(t, t.TempDir())
		defer d.Close(t.Context())
		must.Do(t, d.Commit(t.Context(), file))
		if got, err := d.Load(); err != nil || !reflect.DeepEqual(got, file) {
			t.Errorf("Load after Commit = %v, %v, want %v", got, err, file)
		}
	})
}

func Example() {
	dir, err := manifest.Open("testdata/terraform") // usually ".terraform"
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dir.Close(context.Background())
	file, err := dir.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	network := file["network"]
	fmt.Println(network.Source, network.Version, network.Dir)
	// Output: registry.opentofu.org/acme/network/aws 1.2.0 .terraform/modules/network
}
