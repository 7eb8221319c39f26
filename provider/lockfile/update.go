package lockfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/internal/fsx"
)

// ErrConflict is an error of [Update].
var ErrConflict = errors.New("another program has changed the lock file")

// Update loads the file at path, calls change and saves the File that change returns, also beside an error. If it is
// nil, nothing is saved. See [Load] and [File.Save].
//
// Where files can be locked and created, calls for the same path take turns by the file PATH.lock. The end of ctx ends
// only this wait. The CLI takes no lock: if it changes the file meanwhile, Update saves nothing, and the error wraps
// [ErrConflict].
func Update(ctx context.Context, path string, change func(*File) (*File, error)) error {
	return update(ctx, path, false, change)
}

// UpdateLenient is like [Update], with [ParseLenient].
func UpdateLenient(ctx context.Context, path string, change func(*File) (*File, error)) error {
	return update(ctx, path, true, change)
}

func update(ctx context.Context, path string, lenient bool, change func(*File) (*File, error)) error {
	lock, err := fsx.AcquireLock(ctx, path+".lock")
	switch {
	case err == nil:
		defer lock.Remove()
	case ctx.Err() != nil:
		return fmt.Errorf("lock %s: %w", path, err)
	}
	f, source, err := load(path, lenient)
	if err != nil {
		return err
	}
	changed, err := change(f)
	if changed == nil {
		return err
	}
	data := changed.Bytes()
	if bytes.Equal(data, source) || changed.keeps(source) {
		return err
	}
	conflict := false
	saveErr := fsx.Update(path, data, maxSize, func(now []byte) bool {
		conflict = !bytes.Equal(now, source)
		return conflict
	})
	if conflict {
		saveErr = ErrConflict
	}
	if saveErr != nil {
		return errors.Join(err, fmt.Errorf("write lock file %s: %w", path, saveErr))
	}
	return err
}
