package install

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
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
// on the way and compared with that.
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
			err = context.Cause(ctx)
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
	defer s.release(l)
	if pkg, err := s.has(ctx, from); pkg != nil || err != nil {
		return pkg, err
	}
	st, err := s.stage()
	if err != nil {
		return nil, err
	}
	defer st.release()
	r := &replica{content: content{ctx}, staging: st, from: from.Dir, how: how, typ: from.Provider.Type(), trusted: true}
	finished, err := r.make(func(h1 verify.Hash) error {
		_, err := verify.Policy{Accept: from.Report.Local}.Judge(verify.Evidence{}, -1, []verify.Hash{h1})
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

// replica is a package in the making, of one that is unpacked elsewhere.
type replica struct {
	content
	*staging
	from   string // a directory, or a symbolic link to one
	how    LinkMode
	typ    string        // of the provider
	limits verify.Limits // for what is made

	// trusted: the package has been judged a moment ago. What only leads there need not
	// be hashed again.
	trusted bool
}

// make makes the replica and has its h1 judged. It returns its name in the working place.
func (r *replica) make(judge func(verify.Hash) error) (finished string, err error) {
	if err := r.how.check(); err != nil {
		return "", err
	}
	if r.how == Symlink {
		if finished, err := r.symlink(); err == nil {
			return finished, r.judgeThere(judge)
		}
	}
	h1, err := r.files()
	if err == nil {
		err = judge(h1)
	}
	return r.tree(), err
}

// judgeThere judges the package where it is.
func (r *replica) judgeThere(judge func(verify.Hash) error) error {
	root, err := os.OpenRoot(r.from)
	if err != nil {
		return err
	}
	root.Close()
	if r.trusted {
		return nil
	}
	h1, err := h1Of(r.ctx, r.from)
	if err != nil {
		return err
	}
	return judge(h1)
}

func (r *replica) symlink() (string, error) {
	target, err := filepath.Abs(r.from)
	if err != nil {
		return "", err
	}
	name := r.name + "/link"
	return name, r.root.Symlink(target, name)
}

// files makes directories, and files in them, and returns their h1.
func (r *replica) files() (verify.Hash, error) {
	from, err := os.OpenRoot(r.from)
	if err != nil {
		return verify.Hash{}, err
	}
	defer from.Close()
	t, err := listTree(r.ctx, from)
	if err != nil {
		return verify.Hash{}, err
	}
	limits := r.limits.Effective()
	if t.size > limits.Unpacked || len(t.files)+len(t.dirs) > limits.Entries {
		return verify.Hash{}, fmt.Errorf("%d bytes in %d files: %w", t.size, len(t.files), provider.ErrTooLarge)
	}
	for i, dir := range t.dirs {
		t.dirs[i] = path.Join(r.tree(), dir)
		if err := r.root.Mkdir(t.dirs[i], 0o755); err != nil {
			return verify.Hash{}, err
		}
	}
	h1, err := t.h1(func(name string) ([sha256.Size]byte, error) { return r.file(from, name) })
	if err != nil {
		return verify.Hash{}, err
	}
	return h1, r.sync(t.dirs)
}

// file makes one file and returns the checksum of what it holds.
func (r *replica) file(from *os.Root, name string) (sum [sha256.Size]byte, err error) {
	to := r.tree() + "/" + name
	if r.how == HardLink && os.Link(filepath.Join(r.from, filepath.FromSlash(name)), r.path(to)) == nil {
		return r.hash(r.root, to)
	}
	in, err := openFile(from, name)
	if err != nil {
		return sum, err
	}
	defer in.Close()
	mode, err := r.mode(in, name)
	if err != nil {
		return sum, err
	}
	out, err := r.root.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if r.how == Reflink && fsx.Clone(out, in) == nil {
		sum, err = r.hash(r.root, to)
	} else {
		sum, err = r.copy(out, in)
	}
	if err != nil {
		return sum, err
	}
	return sum, out.Sync()
}

// mode is 0755 for what can be run, and 0644 for the rest.
func (r *replica) mode(in *os.File, name string) (fs.FileMode, error) {
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	if info.Mode()&0o111 != 0 || isProgram(name, r.typ) {
		return 0o755, nil
	}
	return 0o644, nil
}
