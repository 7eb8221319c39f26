package install

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// LinkMode says how a package gets from one directory into another. Where the
// file system, or the right of the user, does not allow what is asked for, it is copied.
type LinkMode string

// The modes. With the first two, whoever can write to the one directory changes what is
// in the other.
const (
	// Symlink makes an absolute symbolic link to the package, as the CLI does.
	Symlink LinkMode = "symlink"
	// HardLink makes directories of its own with the same files in them.
	HardLink LinkMode = "hardlink"
	// Reflink makes copies that share their blocks until one of them is written; Linux
	// can do this on some file systems.
	Reflink LinkMode = "reflink"
	// Copy makes copies.
	Copy LinkMode = "copy"
)

func (m LinkMode) check() error {
	switch m {
	case Symlink, HardLink, Reflink, Copy:
		return nil
	}
	return fmt.Errorf("unknown link mode %.20q", string(m))
}

// Place puts a package of another directory into d: from a cache that is shared into the
// directory of a project. The zero LinkMode is Symlink here.
//
// The package must have been verified, as [Dir.Lookup] and [Dir.Install] have done; its
// Report says what it may consist of. Unless it is only linked to as a whole, it is hashed
// on the way and compared with that. Limits were the affair of the verification.
//
// If d has the package already, with this content, it stays as it is. Anything else that
// is there is replaced, as Install does, and under the same lock.
func (d *Dir) Place(ctx context.Context, from *Installed, how LinkMode) (*Package, error) {
	if from == nil {
		return nil, failed("place", "no package", errors.New("the package is nil"))
	}
	pkg, err := d.place(ctx, from, how)
	if err != nil {
		if ctx.Err() != nil {
			err = fault.Ended(ctx)
		}
		return nil, failed("place", from.String(), err)
	}
	return pkg, nil
}

func (d *Dir) place(ctx context.Context, from *Installed, how LinkMode) (*Package, error) {
	if how == "" {
		how = Symlink
	}
	if from.Report == nil || !hasH1(from.Report.Local) {
		return nil, errors.New("nothing is known of the content of the package")
	}
	o, err := d.create()
	if err != nil {
		return nil, err
	}
	defer o.close()
	s, err := o.spot(from.Provider, from.Version, from.Platform)
	if err != nil {
		return nil, err
	}
	l, err := s.acquire(ctx, func() {})
	if err != nil {
		return nil, err
	}
	defer l.Release()
	if pkg, err := s.has(ctx, from); pkg != nil || err != nil {
		return pkg, err
	}
	st, err := s.stage()
	if err != nil {
		return nil, err
	}
	defer st.release()
	r := &replica{content: content{ctx}, staging: st, from: from.Dir, how: how, typ: from.Provider.Type(), trusted: true}
	finished, err := r.make(func(h1 checksum.Hash) error {
		_, err := verify.Policy{Accept: from.Report.Local}.Judge(verify.Evidence{}, -1, []checksum.Hash{h1})
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.put(st, finished); err != nil {
		return nil, err
	}
	return s.look()
}

// has returns the package at the spot if it is the other one, or has its content.
func (s *spot) has(ctx context.Context, from *Installed) (*Package, error) {
	pkg, err := s.look()
	if err != nil {
		if errors.Is(err, ErrNotInstalled) {
			err = nil
		}
		return nil, err
	}
	if here, err := os.Stat(pkg.Dir); err == nil {
		if there, err := os.Stat(from.Dir); err == nil && os.SameFile(here, there) {
			return pkg, nil
		}
	}
	h1, err := pkg.H1(ctx)
	if err != nil {
		return nil, ctx.Err()
	}
	for _, h := range from.Report.Local {
		if h == h1 {
			return pkg, nil
		}
	}
	return nil, nil
}
