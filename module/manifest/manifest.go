// Package manifest reads and changes the directory in which the CLI installs modules, ".terraform/modules", and its
// manifest, "modules.json". It is experimental.
//
//	dir, err := manifest.Open(".terraform") // for reading; the error wraps fs.ErrNotExist if nothing is installed
//	defer dir.Close(ctx)
//	file, err := dir.Load()
//	for key, module := range file {
//		fmt.Println(key, module.Source, module.Version, module.Dir)
//	}
//
// A program that installs modules calls [Create], [Dir.Stage] for each package, and [Dir.Commit].
package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/jsondoc"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Name is the name of the manifest.
const Name = "modules.json"

const (
	maxSize   = 8 << 20 // bytes of a manifest
	maxCommas = 100_000 // four for a module
)

// ErrSyntax also means invalid UTF-8, or more than 8 MiB or 100,000 commas.
var ErrSyntax = errors.New("not a manifest of modules; remove the file to install the modules again")

// Record is the entry of a module. Its texts may be invalid.
type Record struct {
	Key     string // names of the calls, joined by dots; empty for the configuration itself
	Source  string // as the CLI writes it
	Version string `json:",omitempty"` // empty unless from a registry
	Dir     string // relative to the working directory, or absolute
}

// File has the records of modules by key.
type File map[string]Record

// Parse parses a manifest. Of several records with one key it returns the last. The error wraps [ErrSyntax].
func Parse(data []byte) (File, error) {
	var all struct{ Modules []Record }
	if len(data) > maxSize || !utf8.Valid(data) || bytes.Count(data, []byte(",")) > maxCommas || jsondoc.Unmarshal(data, &all) != nil {
		return nil, ErrSyntax
	}
	file := File{}
	for _, r := range all.Modules {
		file[r.Key] = r
	}
	return file, nil
}

// Drop removes modules and those that they call.
func (f File) Drop(keys ...string) {
	sorted := slices.Sorted(maps.Keys(f))
	for _, key := range keys {
		delete(f, key)
		i, _ := slices.BinarySearch(sorted, key+".")
		for ; i < len(sorted) && strings.HasPrefix(sorted[i], key+"."); i++ {
			delete(f, sorted[i])
		}
	}
}

// Dir is the open directory of modules. It is safe for concurrent use.
type Dir struct {
	// Root is the directory "modules". The package directory of a module in it has its key as name.
	Root *os.Root

	data *os.Root
	lock *fsx.Lock // nil after Open, or without locks

	mu      sync.Mutex
	claimed map[string]string // keys by package directories in lower case
	part    *fsx.PartDir      // nil until something is staged
	made    int               // names in part
	moves   []move
}

// A move is a staged package that is not yet at its place.
type move struct{ made, key string }

// Open opens the directory "modules" in data, the data directory of the CLI, usually ".terraform". If it is missing,
// the error wraps [fs.ErrNotExist]. The caller must close the Dir, and must not stage, claim or commit.
func Open(data string) (*Dir, error) { return open(data, false) }

// Create is like [Open], and makes the directories. It waits for other calls of Create to close the directory, also in
// other processes, unless the file system has no locks; the CLI does not lock it. It removes what killed processes have
// staged.
func Create(ctx context.Context, data string) (*Dir, error) {
	if err := os.MkdirAll(data, 0o777); err != nil {
		return nil, fault.Printable(err)
	}
	d, err := open(data, true)
	if err != nil {
		return nil, err
	}
	// Without locks, or in a directory that cannot be written, nothing protects against another process.
	d.lock, _ = fsx.AcquireLockIn(ctx, d.data, ".tofureg.lock")
	if ctx.Err() != nil {
		d.Close(ctx)
		return nil, fault.Ended(ctx)
	}
	fsx.SweepPartsIn(ctx, d.Root, ".")
	return d, nil
}

func open(path string, create bool) (*Dir, error) {
	data, err := fsx.OpenRoot(path)
	if err != nil {
		return nil, fault.Printable(err)
	}
	if create {
		err = data.MkdirAll("modules", 0o777)
	}
	var root *os.Root
	if err == nil {
		root, err = fsx.OpenRootIn(data, "modules")
	}
	if err != nil {
		data.Close()
		return nil, fault.Printable(err)
	}
	return &Dir{Root: root, data: data, claimed: map[string]string{}}, nil
}

// Close removes what is staged and not committed, and closes the directory. If ctx has ended, it removes at most 100
// files; the next [Create] removes the rest.
func (d *Dir) Close(ctx context.Context) {
	if d.opened() != nil {
		return
	}
	if d.part != nil {
		d.part.Discard(ctx)
	}
	if d.lock != nil {
		d.lock.Remove()
	}
	d.Root.Close()
	d.data.Close()
}

// opened returns an error for the zero Dir.
func (d *Dir) opened() error {
	if d.Root == nil {
		return errors.New("the directory of modules is not open: call Open or Create")
	}
	return nil
}

// Load calls [Parse] with the manifest. If it is missing, the result is empty.
func (d *Dir) Load() (File, error) {
	data, err := d.read()
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, nil
	}
	if err != nil {
		return nil, err
	}
	return Parse(data)
}

// read returns the manifest, and of one that is too large one byte more than is permitted.
func (d *Dir) read() ([]byte, error) {
	if err := d.opened(); err != nil {
		return nil, err
	}
	f, err := fsx.OpenRegularIn(d.Root, Name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSize+1))
}

// write replaces the manifest unless it is the same.
func (d *Dir) write(file File) error {
	records := slices.SortedFunc(maps.Values(file), func(a, b Record) int { return strings.Compare(a.Key, b.Key) })
	data, err := json.Marshal(map[string][]Record{"Modules": records})
	if err != nil {
		return err
	}
	if old, err := d.read(); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return fsx.WriteFileIn(d.Root, Name, data, 0o666)
}

// Hash returns the [checksum.L1Dir] of a package in Root.
func (d *Dir) Hash(ctx context.Context, name string) (checksum.Hash, error) {
	if err := d.opened(); err != nil {
		return checksum.Hash{}, err
	}
	root, err := fsx.OpenRootIn(d.Root, name)
	if err != nil {
		return checksum.Hash{}, fault.Printable(err)
	}
	defer root.Close()
	return checksum.L1Dir(ctx, fsx.Tree(ctx, root))
}

// Claim reserves the package directory of a module. The error wraps [fs.ErrExist] if a module of an earlier call would
// have the same directory on this file system, which may ignore case.
func (d *Dir) Claim(key string) error {
	if err := check(key); err != nil {
		return err
	}
	if err := d.opened(); err != nil {
		return err
	}
	folded := archive.Fold(key)
	d.mu.Lock()
	defer d.mu.Unlock()
	other := d.claimed[folded]
	d.claimed[folded] = key
	if other == "" {
		return nil
	}
	dir, err := d.stage()
	if err == nil {
		err = d.Root.MkdirAll(filepath.Join(dir, other), 0o700)
	}
	if err == nil { // the file system decides
		err = d.Root.Mkdir(filepath.Join(dir, key), 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return fault.Narrow(fmt.Sprintf("modules %q and %q would have the same directory on this file system", key, other), fs.ErrExist)
	}
	return fault.Printable(err)
}

// check returns an error unless a package directory can have the key as its name.
func check(key string) error {
	if !filepath.IsLocal(key) || key == "." || key == Name || strings.ContainsAny(key, `/\`) {
		return fmt.Errorf("module %.100q: a directory cannot have this name: %w", key, fs.ErrInvalid)
	}
	return nil
}

// Stage returns a new name in Root, at which the caller makes the package of a module: a directory, or a link to one.
// The parent directory exists.
func (d *Dir) Stage(key string) (name string, err error) {
	if err := check(key); err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if name, err = d.stage(); err == nil {
		d.moves = append(d.moves, move{filepath.Base(name), key})
	}
	return name, err
}

// stage returns a new name in the private directory of this Dir.
func (d *Dir) stage() (name string, err error) {
	if err := d.opened(); err != nil {
		return "", err
	}
	if d.part == nil {
		if d.part, err = fsx.CreatePartDirIn(d.Root, ".", 0o700); err != nil {
			return "", err
		}
	}
	d.made++
	return filepath.Join(d.part.Name(), strconv.Itoa(d.made)), nil
}

// Commit moves staged packages to their places, where they replace others, and writes the manifest. On Windows it waits
// up to two seconds while other processes have a package open. If the process is killed meanwhile, the manifest lacks
// the replaced packages, so that they are installed again.
func (d *Dir) Commit(ctx context.Context, file File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	old, err := d.Load()
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	if err != nil {
		return err
	}
	if len(d.moves) > 0 {
		keys := make([]string, len(d.moves))
		for i, m := range d.moves {
			keys[i] = m.key
		}
		old.Drop(keys...)
		if err := d.write(old); err != nil {
			return err
		}
	}
	for _, m := range d.moves {
		if _, err := d.part.Put(m.made, m.key, nil); err != nil {
			return fmt.Errorf("module %q: %w", m.key, err)
		}
	}
	if len(d.moves) > 0 {
		err = fsx.SyncDirIn(d.Root, ".")
	}
	d.moves = nil
	if err == nil {
		err = d.write(file)
	}
	return err
}
