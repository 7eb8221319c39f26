package mirrordir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tofureg/tofureg/internal/fsx"
)

// Lock waits for the lock of this name. It is a file lock in ".tofureg", which the
// system gives up when the process ends.
func (d *Directory) Lock(ctx context.Context, name string) (unlock func() error, err error) {
	// A digest, since names may be long, and differ only in case.
	sum := sha256.Sum256([]byte(name))
	l, err := d.lock(ctx, hex.EncodeToString(sum[:16])+".lock")
	if err != nil {
		return nil, err
	}
	return l.Remove, nil
}

// lockChanges keeps others from changing what has a name in the mirror. It is held for
// moments only.
func (d *Directory) lockChanges(ctx context.Context) (unlock func(), err error) {
	l, err := d.lock(ctx, "change.lock")
	if err != nil {
		return nil, err
	}
	return func() { l.Release() }, nil
}

func (d *Directory) lock(ctx context.Context, file string) (*fsx.Lock, error) {
	dir, err := d.private()
	if err != nil {
		return nil, err
	}
	return fsx.AcquireLock(ctx, filepath.Join(dir, file))
}

// private returns the directory for locks and unfinished files.
func (d *Directory) private() (string, error) {
	dir := filepath.Join(d.Path, private)
	err := os.Mkdir(dir, 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}

// clean removes what dead processes have left behind.
func (d *Directory) clean(ctx context.Context) error {
	// On Windows a file that is about to get its name has no lock any more.
	unlock, err := d.lockChanges(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	list, err := d.unfinished()
	for _, path := range list {
		if runtime.GOOS == "windows" {
			os.Remove(path) // fails if anybody has it open, also if that is this process
		} else {
			hold(path, func() { os.Remove(path) })
		}
	}
	return err
}

// leftovers calls found for each unfinished file that nobody holds.
func (d *Directory) leftovers(ctx context.Context, found func(path string)) error {
	list, err := d.unfinished()
	if err != nil || len(list) == 0 {
		return err
	}
	if runtime.GOOS == "windows" {
		// What is opened here could not get its name meanwhile.
		unlock, err := d.lockChanges(ctx)
		if err == nil {
			defer unlock()
		} else if ctx.Err() != nil {
			return err
		} // or nobody can write here
	}
	for _, path := range list {
		hold(path, func() { found(path) })
	}
	return nil
}

// unfinished returns the files that have not got their names yet, whoever works on them.
func (d *Directory) unfinished() ([]string, error) {
	dir := filepath.Join(d.Path, private)
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []string
	for _, n := range names {
		if n.Type().IsRegular() && strings.HasPrefix(n.Name(), fsx.TempPrefix) {
			list = append(list, filepath.Join(dir, n.Name()))
		}
	}
	return list, err
}

// hold calls free if nobody holds an unfinished file, and holds it meanwhile: its maker may
// only be about to lock it.
func hold(path string, free func()) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return // gone, or not ours
	}
	defer f.Close()
	if locked, err := fsx.TryLock(f); err == nil && locked {
		free()
	}
}
