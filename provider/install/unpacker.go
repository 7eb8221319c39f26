package install

import (
	"context"
	"errors"
	"os"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/verify/checksum"
)

// unpacker unpacks an archive into a staging directory while the archive arrives.
type unpacker struct {
	*arriving
	place *staging
	root  *os.Root            // of the tree
	done  chan *archive.Ahead // gets what was unpacked, when the archive ends
}

// startUnpacking begins to unpack what arrives in f to the tree of s. The caller must stop
// it in the end.
func (s *staging) startUnpacking(ctx context.Context, f *os.File, l checksum.Limits) (a *unpacker, stop func(), err error) {
	root, err := s.newTree()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	a = &unpacker{arriving: newArriving(f), place: s, root: root, done: make(chan *archive.Ahead, 1)}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		a.done <- archive.UnpackAhead(ctx, a.arriving, root, archive.Limits(l))
	}()
	return a, func() {
		cancel()
		a.finish(context.Canceled)
		<-gone
		a.root.Close()
	}, nil
}

// newTree makes the directory of the tree.
func (s *staging) newTree() (*os.Root, error) {
	if err := s.root.Mkdir(s.tree(), 0o755); err != nil {
		return nil, err
	}
	return s.root.OpenRoot(s.tree())
}

// complete unpacks what is left of the archive, which is all of it if what was unpacked
// is not what the archive turns out to be. It makes the tree durable, and the program of a
// provider of this type executable.
func (a *unpacker) complete(ctx context.Context, z *archive.Zip, typ string) ([]archive.File, error) {
	files, err := a.rest(ctx, z, archive.Options{Sync: true, Exec: func(name string) bool { return isProgram(name, typ) }})
	if err != nil {
		return nil, err
	}
	// Windows moves no directory that is open.
	if err := a.root.Close(); err != nil {
		return nil, err
	}
	return files, a.place.sync(a.place.dirs(files))
}

// rest unpacks what is not unpacked yet.
func (a *unpacker) rest(ctx context.Context, z *archive.Zip, o archive.Options) ([]archive.File, error) {
	early := <-a.done
	if !a.restarted() {
		files, err := z.UnpackRest(ctx, a.root, early, o)
		if !errors.Is(err, archive.ErrAhead) {
			return files, err
		}
	}
	if err := a.again(); err != nil {
		return nil, err
	}
	return z.Unpack(ctx, a.root, o)
}

// again begins with an empty tree.
func (a *unpacker) again() error {
	if err := errors.Join(a.root.Close(), a.place.root.RemoveAll(a.place.tree())); err != nil {
		return err
	}
	root, err := a.place.newTree()
	if err == nil {
		a.root = root
	}
	return err
}
