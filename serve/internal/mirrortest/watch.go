package mirrortest

import (
	"context"
	"io"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
)

// WatchedStore is a storage that calls Before and After, unless they are nil, with the operation
// (list, open, write or delete) and the name of each call. An error of Before is the result of the call.
type WatchedStore struct {
	storage.Store
	Before func(op, name string) error
	After  func(op, name string)
}

func watched[T any](w *WatchedStore, op, name string, call func() (T, error)) (result T, err error) {
	if w.Before != nil {
		if err := w.Before(op, name); err != nil {
			return result, err
		}
	}
	result, err = call()
	if w.After != nil {
		w.After(op, name)
	}
	return result, err
}

// Open implements storage.Store.
func (w *WatchedStore) Open(ctx context.Context, name string) (*storage.File, error) {
	return watched(w, "open", name, func() (*storage.File, error) { return w.Store.Open(ctx, name) })
}

// List implements storage.Store.
func (w *WatchedStore) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	return watched(w, "list", dir, func() ([]storage.Entry, error) { return w.Store.List(ctx, dir) })
}

// Write implements storage.Store.
func (w *WatchedStore) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	_, err := watched(w, "write", name, func() (any, error) { return nil, w.Store.Write(ctx, name, content, was) })
	return err
}

// Delete implements storage.Store.
func (w *WatchedStore) Delete(ctx context.Context, name string) error {
	_, err := watched(w, "delete", name, func() (any, error) { return nil, w.Store.Delete(ctx, name) })
	return err
}

// Stat implements storage.Store.
func (w *WatchedStore) Stat(ctx context.Context, name string) (storage.Info, error) {
	return watched(w, "stat", name, func() (storage.Info, error) { return w.Store.Stat(ctx, name) })
}

// LockedStore is a store with the locks of a directory.
type LockedStore struct {
	storage.Store
	Dir *storage.Dir
}

// Lock waits for a lock.
func (l LockedStore) Lock(ctx context.Context, name string) (unlock func() error, err error) {
	return l.Dir.Lock(ctx, name)
}

// WatchedSource is a source that calls Read after each read of an archive, with the context of Open and
// the number of bytes that have been read of this archive.
type WatchedSource struct {
	provider.Source
	Read func(ctx context.Context, total int, err error)
}

// Open implements provider.Source.
func (w WatchedSource) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	body, err := w.Source.Open(ctx, pkg)
	if err == nil {
		body.ReadCloser = &watchedBody{ReadCloser: body.ReadCloser, ctx: ctx, read: w.Read}
	}
	return body, err
}

type watchedBody struct {
	io.ReadCloser
	ctx   context.Context
	read  func(ctx context.Context, total int, err error)
	total int
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.total += n
	b.read(b.ctx, b.total, err)
	return n, err
}
