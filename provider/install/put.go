package install

import (
	"context"
	"errors"
	"os"
	"path"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// put moves what is finished in the working place, and on disk, to the spot, whose lock
// the caller has. What is there changes places with it, as a whole; it may be anything, and
// is neither followed nor written to.
//
// A name that is new is not synced: should the power fail, the package is missing and is
// installed again. One that is replaced is, before the old content is removed.
func (s *spot) put(st *staging, finished string) error {
	replaced, err := fsx.PutIn(s.root, finished, s.name, st.name)
	if err != nil || !replaced {
		return err
	}
	return s.sync([]string{path.Dir(s.name)})
}

// same returns the package at the spot if it has this content, otherwise nil: then there
// is nothing, or what there is does not deserve to stay.
func (s *spot) same(ctx context.Context, h1 checksum.Hash) (*Package, error) {
	pkg, err := s.look()
	if err != nil {
		if errors.Is(err, ErrNotInstalled) {
			err = nil
		}
		return nil, err
	}
	got, err := pkg.H1(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, fault.Ended(ctx)
	case err != nil || got != h1:
		return nil, nil
	}
	return pkg, nil
}

// executable lets the system run a file that an archive made on Windows holds.
func (o *opened) executable(name string) error {
	f, err := o.root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	// Whoever may read it may run it.
	mode := info.Mode().Perm()
	if err := f.Chmod(mode | mode&0o444>>2); err != nil {
		return err
	}
	return f.Sync()
}
