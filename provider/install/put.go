package install

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// put moves a finished package, which is on disk, from the staging directory to the
// location, whose lock the caller has. What is there changes places with it, as a whole. It
// may be anything, and is neither followed nor written to.
//
// A name that is new is not synced: should the power fail, the package is missing and is
// installed again. One that is replaced is, before the old content is removed.
func (s *location) put(st *staging, finished string) error {
	replaced, err := fsx.PutIn(s.root, finished, s.name, st.name)
	if err != nil || !replaced {
		return err
	}
	return s.sync([]string{path.Dir(s.name)})
}

// holding returns the package at the location if its content has one of the hashes, or if it
// is the directory dir. Otherwise it returns nil: there is nothing, or something that can be
// replaced.
func (s *location) holding(ctx context.Context, hashes []checksum.Hash, dir string) (*Package, error) {
	pkg, err := s.look()
	if errors.Is(err, ErrNotInstalled) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if sameFile(pkg.Dir, dir) {
		return pkg, nil
	}
	h1, err := pkg.H1(ctx)
	if ctx.Err() != nil {
		return nil, fault.Ended(ctx)
	}
	if err != nil || !slices.Contains(hashes, h1) {
		return nil, nil
	}
	return pkg, nil
}
