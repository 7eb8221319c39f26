package install

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
)

// minUnused is the least PruneOptions.Unused: systems write the access time of a file at most once in 24 hours.
const minUnused = 48 * time.Hour

// ErrAccessTimes is an error of [Dir.PruneUnused].
var ErrAccessTimes = errors.New("the file system does not keep access times, so it does not tell when a CLI has used a package; set AllowNoAccessTimes to accept that")

// A Mark says how the last use of a package is known.
type Mark string

const (
	MarkInstalled Mark = "installed" // when it was installed
	MarkUsed      Mark = "used"      // when an [Installer] used it from its Cache; written at most once a day
	MarkRead      Mark = "read"      // the access time of its program
)

// PruneOptions are the options of [Dir.PruneUnused].
type PruneOptions struct {
	Unused time.Duration // at least 48 hours

	AllowNoAccessTimes bool // goes on without access times: packages that only a CLI uses then count as unused

	DryRun bool // removes nothing
}

// Pruned is a package that [Dir.PruneUnused] has removed, or would remove.
type Pruned struct {
	Package
	Used time.Time `json:"used"` // the last use
	By   Mark      `json:"by"`   // how it is known
}

// PruneUnused removes and returns packages of a plugin cache that were not used for o.Unused, by the newest [Mark].
// Symbolic links stay. The error joins all failures. It wraps [ErrAccessTimes] if the file system does not keep access
// times.
//
// A directory that links to a removed package needs init with the same cache: without it, init of both CLIs fails at
// the dangling link. No lock of the CLI prevents this. Copies stay, see [Installer].Copy.
func (d *Dir) PruneUnused(ctx context.Context, o PruneOptions) ([]Pruned, error) {
	return d.pruneUnused(ctx, o, keepsAccessTimes)
}

func (d *Dir) pruneUnused(ctx context.Context, o PruneOptions, probe func(*os.Root) (bool, error)) (list []Pruned, err error) {
	if o.Unused < minUnused {
		return nil, failure.Wrap("prune", d.subject(), fmt.Errorf("the time without a use is %s, and must be at least %s", o.Unused, minUnused))
	}
	root, err := d.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failure.Wrap("prune", d.subject(), err)
	}
	defer root.Close()
	if !o.AllowNoAccessTimes {
		if kept, err := probe(root); err != nil || !kept {
			if err == nil {
				err = ErrAccessTimes
			}
			return nil, failure.Wrap("prune", d.subject(), err)
		}
	}
	before := time.Now().Add(-o.Unused)
	err = d.each(ctx, root, func(pkg *Package) error {
		last, err := lastUse(root, pkg)
		if err != nil || last == nil || !last.Used.Before(before) {
			return err
		}
		if !o.DryRun {
			last, err = removeUnused(ctx, root, pkg, before)
		}
		if last != nil {
			list = append(list, *last)
		}
		return err
	})
	return list, err
}

// removeUnused removes a package unless it has been used or installed before the lock was free.
func removeUnused(ctx context.Context, root *os.Root, pkg *Package, before time.Time) (last *Pruned, err error) {
	unused := func() bool {
		last, err = lastUse(root, pkg)
		return err == nil && last != nil && last.Used.Before(before)
	}
	removed, failed := remove(ctx, root, pkg, unused)
	if !removed || failed != nil {
		return nil, errors.Join(err, failed)
	}
	return last, nil
}

// lastUse returns the newest mark of a package, or nil for a symbolic link and a package that is gone.
func lastUse(root *os.Root, pkg *Package) (*Pruned, error) {
	at, err := locate(root, pkg.Provider, pkg.Version, pkg.Platform)
	if err != nil {
		return nil, err
	}
	info, err := root.Lstat(at.name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	last := &Pruned{*pkg, info.ModTime(), MarkInstalled}
	if info, err := root.Lstat(at.usedName()); err == nil && info.ModTime().After(last.Used) {
		last.Used, last.By = info.ModTime(), MarkUsed
	}
	program, err := pkg.Executable()
	if errors.Is(err, fs.ErrNotExist) {
		return last, nil
	}
	if err != nil {
		return nil, err
	}
	if info, err := root.Lstat(filepath.Join(at.name, filepath.Base(program))); err == nil {
		if read := accessTime(info); read.After(last.Used) {
			last.Used, last.By = read, MarkRead
		}
	}
	return last, nil
}

// use marks a package as used, at most once a day. Errors are ignored: a directory may be readable only.
func (d *Dir) use(pkg *Package) {
	root, err := d.open()
	if err != nil {
		return
	}
	defer root.Close()
	at, err := locate(root, pkg.Provider, pkg.Version, pkg.Platform)
	if err != nil {
		return
	}
	now := time.Now()
	if info, err := root.Lstat(at.usedName()); err == nil && now.Sub(info.ModTime()) < minUnused/2 {
		return
	}
	if mkdir(root, private+"/used") == nil {
		_ = fsx.WriteFileIn(root, at.usedName(), nil, 0o644)
	}
}

func (at *location) usedName() string {
	sum := sha256.Sum256([]byte(at.name))
	return private + "/used/" + hex.EncodeToString(sum[:16])
}

// keepsAccessTimes reports whether reading a file below root changes its access time.
func keepsAccessTimes(root *os.Root) (kept bool, err error) {
	if err := mkdir(root, private); err != nil {
		return false, err
	}
	name := private + "/probe-" + rand.Text()
	if err := fsx.WriteFileIn(root, name, []byte{0}, 0o600); err != nil {
		return false, err
	}
	defer root.Remove(name)
	// With the option relatime, an access time changes that is older than a day or than the time of the last change.
	old := time.Now().Add(-3 * minUnused)
	if err := root.Chtimes(name, old, old); err != nil {
		return false, err
	}
	if _, err := root.ReadFile(name); err != nil {
		return false, err
	}
	info, err := root.Lstat(name)
	return err == nil && accessTime(info).After(old.Add(minUnused)), err
}
