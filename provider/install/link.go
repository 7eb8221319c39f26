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

// LinkMode says how a package gets from one directory into another. If the file system
// does not support the mode, or the user may not use it, the package is copied. The empty
// LinkMode is [Symlink].
type LinkMode string

// The modes. With [Symlink] and [HardLink], a process that writes to one of the directories
// changes the content of the other.
const (
	// Symlink makes an absolute symbolic link to the package, as the CLI does.
	Symlink LinkMode = "symlink"
	// HardLink makes directories of its own with the same files in them.
	HardLink LinkMode = "hardlink"
	// Copy makes copies.
	Copy LinkMode = "copy"
)

// effective returns the mode to use.
func (m LinkMode) effective() (LinkMode, error) {
	switch m {
	case "":
		return Symlink, nil
	case Symlink, HardLink, Copy:
		return m, nil
	}
	return "", fmt.Errorf("unknown link mode %.20q", string(m))
}

// Place puts a package of another directory into d, for example from a shared cache into
// the directory of a project.
//
// The package must have been verified by [Dir.Lookup] or [Dir.Install]. Unless Place only
// makes a symbolic link, it hashes the package on the way and compares the h1 with the
// Report. Limits have no effect here.
//
// If d has a package with this content, it stays. Anything else that is there is replaced,
// as [Dir.Install] does, and under the same lock.
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
	if from.Report == nil || !checksum.HasScheme(from.Report.Local, checksum.SchemeH1) {
		return nil, errors.New("nothing is known of the content of the package")
	}
	o, err := d.create()
	if err != nil {
		return nil, err
	}
	defer o.close()
	s, err := o.locate(from.Provider, from.Version, from.Platform)
	if err != nil {
		return nil, err
	}
	l, err := s.acquire(ctx, func() {})
	if err != nil {
		return nil, err
	}
	defer l.Release()
	if pkg, err := s.holding(ctx, from.Report.Local, from.Dir); pkg != nil || err != nil {
		return pkg, err
	}
	st, err := s.stage()
	if err != nil {
		return nil, err
	}
	defer st.release()
	p := &placement{staging: st, from: from.Dir, how: how, typ: from.Provider.Type(), trusted: true}
	finished, err := p.make(ctx, func(h1 checksum.Hash) error {
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

// sameFile reports whether both names lead to the same directory.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}
