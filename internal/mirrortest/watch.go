package mirrortest

import (
	"context"
	"io"

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
)

// WatchedStorage is a storage that calls Before and After, unless they are nil, with the operation
// (list, open, write or delete) and the name of each call. An error of Before is the result of the call.
type WatchedStorage struct {
	mirrordir.Storage
	Before func(op, name string) error
	After  func(op, name string)
}

func watched[T any](w *WatchedStorage, op, name string, call func() (T, error)) (result T, err error) {
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

// Open implements mirrordir.Storage.
func (w *WatchedStorage) Open(ctx context.Context, name string) (*mirrordir.Object, error) {
	return watched(w, "open", name, func() (*mirrordir.Object, error) { return w.Storage.Open(ctx, name) })
}

// List implements mirrordir.Storage.
func (w *WatchedStorage) List(ctx context.Context, dir string) ([]mirrordir.Entry, error) {
	return watched(w, "list", dir, func() ([]mirrordir.Entry, error) { return w.Storage.List(ctx, dir) })
}

// Write implements mirrordir.Storage.
func (w *WatchedStorage) Write(ctx context.Context, name string, content *io.SectionReader, was mirrordir.Revision) error {
	_, err := watched(w, "write", name, func() (any, error) { return nil, w.Storage.Write(ctx, name, content, was) })
	return err
}

// Delete implements mirrordir.Storage.
func (w *WatchedStorage) Delete(ctx context.Context, name string) error {
	_, err := watched(w, "delete", name, func() (any, error) { return nil, w.Storage.Delete(ctx, name) })
	return err
}

// LockedStorage is a storage with the locks of another one.
type LockedStorage struct {
	mirrordir.Storage
	mirrordir.Locker
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
