package stored

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tofureg/tofureg/storage"
)

// Parallel is the maximum number of files that are read or written concurrently.
const Parallel = 16

// Layout is the number of the form of documents that this version of the module writes.
const Layout = 1

// State is the member "tofureg" of a document. Programs that write it without that member drop it.
type State struct {
	Layout  int      `json:"layout"`
	Serial  string   `json:"serial"`            // differs after each write, also if nothing else changes
	Locked  bool     `json:"locked,omitempty"`  // files have their usual names, which locks protect
	Swept   int      `json:"swept,omitempty"`   // number of sweeps
	Retired []string `json:"retired,omitempty"` // usual names, without directory, that are never listed again
}

// errLayout means that this version of the module must not write.
var errLayout = errors.New("the store must be written by another program or version")

// MayWrite returns an error if the state of a document says that a writer of s must not change it. The zero
// State, of another program, permits it.
func (of State) MayWrite(s storage.Store, name string) error {
	switch {
	case of.Layout > Layout:
		return fmt.Errorf("%s has layout %d, known is %d: %w", name, of.Layout, Layout, errLayout)
	case of.Locked && !HasLocks(s):
		return fmt.Errorf("%s says that locks protect the files, and the store has none: %w; use a store that is a storage.Locker", name, errLayout)
	}
	return nil
}

// HasLocks reports whether a store has locks.
func HasLocks(s storage.Store) bool {
	_, ok := storage.As[storage.Locker](s)
	return ok
}

// Lock waits for locks, if the store has locks. Who changes a version has the lock of its document from reading it until
// all documents are written. A caller that needs more locks takes the lock of the index or list last, and several versions
// in their order.
func Lock(ctx context.Context, s storage.Store, names ...string) (unlock func(), err error) {
	l, ok := storage.As[storage.Locker](s)
	if !ok {
		return func() {}, nil
	}
	var held []func() error
	unlock = func() {
		for _, free := range held {
			_ = free()
		}
	}
	for _, name := range names {
		free, err := l.Lock(ctx, name)
		if err != nil {
			unlock()
			return nil, err
		}
		held = append(held, free)
	}
	return unlock, nil
}

// Step is one change of a file.
type Step struct {
	Name string
	Data []byte           // nil to delete the file; the caller has its lock
	Was  storage.Revision // of the file that is replaced, empty if it is new
}

// Take takes the steps of a group concurrently, and the groups in their order.
func Take(ctx context.Context, s storage.Store, groups ...[]Step) error {
	for _, steps := range groups {
		err := Each(ctx, Parallel, len(steps), func(ctx context.Context, i int) error {
			step := steps[i]
			switch {
			case step.Data != nil:
				return Put(ctx, s, step.Name, step.Data, step.Was)
			case step.Was != "":
				return s.Delete(ctx, step.Name)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Put writes a file on the condition of Write of [storage.Store].
func Put(ctx context.Context, s storage.Store, name string, data []byte, was storage.Revision) error {
	return s.Write(ctx, name, io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), was)
}

// Delete deletes files that no document names, or will name.
func Delete(ctx context.Context, s storage.Store, names []string) error {
	return Each(ctx, Parallel, len(names), func(ctx context.Context, i int) error { return s.Delete(ctx, names[i]) })
}
