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

// LinkMode says how a package gets into another directory. If the mode is not possible, it is copied.
// The empty LinkMode is [Symlink].
type LinkMode string

// The link modes. With [Symlink] and [HardLink], a change in one directory changes the other.
const (
	Symlink  LinkMode = "symlink"  // an absolute symbolic link, as the CLI makes
	HardLink LinkMode = "hardlink" // new directories with hard links to the files
	Copy     LinkMode = "copy"     // new directories and files
)

// effective returns the mode that m stands for.
func (m LinkMode) effective() (LinkMode, error) {
	switch m {
	case "":
		return Symlink, nil
	case Symlink, HardLink, Copy:
		return m, nil
	}
	return "", fmt.Errorf("unknown link mode %.20q", string(m))
}

// Place puts a package of another directory into d, for example from a shared cache. [Dir.Lookup]
// or [Dir.Install] must have verified the package. Place hashes the files that it copies and
// compares the h1 with the Report.
//
// If d has a package with this content, it stays. Anything else at its location is replaced as by
// [Dir.Install].
func (d *Dir) Place(ctx context.Context, from *Installed, how LinkMode) (*Package, error) {
	if from == nil {
		return nil, failed("place", "no package", errors.New("the package is nil"))
	}
	pkg, err := d.placePackage(ctx, from, how)
	if err != nil {
		if ctx.Err() != nil {
			err = fault.Ended(ctx)
		}
		return nil, failed("place", from.String(), err)
	}
	return pkg, nil
}

func (d *Dir) placePackage(ctx context.Context, from *Installed, how LinkMode) (*Package, error) {
	if from.Report == nil || !checksum.HasScheme(from.Report.Local, checksum.SchemeH1) {
		return nil, errors.New("the package has no report with an h1")
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
	if pkg, err := s.packageWith(ctx, from.Report.Local, from.Dir); pkg != nil || err != nil {
		return pkg, err
	}
	st, err := s.stage(ctx)
	if err != nil {
		return nil, err
	}
	defer st.part.Discard(ctx)
	p := &placement{staging: st, from: from.Dir, how: how, typ: from.Provider.Type(), trusted: true}
	finished, err := p.build(ctx, func(h1 checksum.Hash) error {
		_, err := verify.Policy{Accept: from.Report.Local}.Judge(verify.Evidence{}, -1, []checksum.Hash{h1})
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.publish(ctx, st, finished); err != nil {
		return nil, err
	}
	return s.installedPackage()
}

// sameFile reports whether both paths lead to the same file or directory.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}
