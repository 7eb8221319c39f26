package install

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/verify/checksum"
)

// publish moves a finished package, which is synced, from the staging directory to its location.
// The caller holds the lock. Anything at the location is exchanged with the package as a whole, and
// never followed or written to.
//
// A replacement is synced before the old content is removed. A new name is not: if the power fails,
// the package is missing and is installed again.
func (s *location) publish(ctx context.Context, st *staging, finished string) error {
	replaced, err := st.part.Put(path.Base(finished), s.name, nil)
	if err != nil || !replaced {
		return err
	}
	return s.sync(ctx, []string{path.Dir(s.name)})
}

// packageWith returns the package at the location if its content has one of the hashes, or if it is
// the directory dir. Otherwise it returns nil.
func (s *location) packageWith(ctx context.Context, hashes []checksum.Hash, dir string) (*Package, error) {
	pkg, err := s.installedPackage()
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
