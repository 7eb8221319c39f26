package install

import (
	"context"
	"errors"
	"os"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// unpacker unpacks an archive into a staging directory while the archive is received.
type unpacker struct {
	*incoming
	staging *staging
	root    *os.Root            // of the tree
	done    chan *archive.Ahead // receives the result at the end of the archive
}

// startUnpacking unpacks what is received in f into the tree of s. The caller must call stop.
func (s *staging) startUnpacking(ctx context.Context, f *os.File, l checksum.Limits) (a *unpacker, stop func(), err error) {
	root, err := s.newTree()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	a = &unpacker{incoming: newIncoming(f), staging: s, root: root, done: make(chan *archive.Ahead, 1)}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		a.done <- archive.UnpackAhead(ctx, a.incoming, root, archive.Limits(l))
	}()
	return a, func() {
		cancel()
		a.finish(context.Canceled)
		<-gone
		a.root.Close()
	}, nil
}

// newTree creates the directory of the tree.
func (s *staging) newTree() (*os.Root, error) {
	if err := s.root.Mkdir(s.tree(), 0o755); err != nil {
		return nil, err
	}
	return s.root.OpenRoot(s.tree())
}

// complete unpacks the rest of the archive and syncs the directories of the tree. The program of a
// provider of type typ becomes executable. If the files unpacked so far differ from the directory
// of the archive, everything is unpacked again.
func (a *unpacker) complete(ctx context.Context, z *archive.Zip, typ string) ([]archive.File, error) {
	files, err := a.unpackRest(ctx, z, archive.Options{Sync: true, Exec: func(name string) bool { return isProgram(name, typ) }})
	if err != nil {
		return nil, err
	}
	// Windows cannot rename an open directory.
	if err := a.root.Close(); err != nil {
		return nil, err
	}
	return files, a.staging.sync(ctx, a.staging.dirs(files))
}

// unpackRest unpacks the files that are not unpacked yet.
func (a *unpacker) unpackRest(ctx context.Context, z *archive.Zip, o archive.Options) ([]archive.File, error) {
	ahead := <-a.done
	if !a.restarted() {
		files, err := z.UnpackRest(ctx, a.root, ahead, o)
		if !errors.Is(err, archive.ErrAhead) {
			return files, err
		}
	}
	if err := a.restart(ctx); err != nil {
		return nil, err
	}
	return z.Unpack(ctx, a.root, o)
}

// restart empties the tree.
func (a *unpacker) restart(ctx context.Context) error {
	if err := errors.Join(a.root.Close(), fsx.RemoveTree(ctx, a.staging.root, a.staging.tree())); err != nil {
		return err
	}
	root, err := a.staging.newTree()
	if err == nil {
		a.root = root
	}
	return err
}
