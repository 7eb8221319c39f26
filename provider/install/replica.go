package install

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// replica is a package in the making, of one that is unpacked elsewhere.
type replica struct {
	content
	*staging
	from   string // a directory, or a symbolic link to one
	how    LinkMode
	typ    string          // of the provider
	limits checksum.Limits // for what is made, unless it is trusted

	// trusted: the package has been judged a moment ago. What only leads there need not
	// be hashed again.
	trusted bool
}

// make makes the replica and has its h1 judged. It returns its name in the working place.
func (r *replica) make(judge func(checksum.Hash) error) (finished string, err error) {
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
func (r *replica) judgeThere(judge func(checksum.Hash) error) error {
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
	if runtime.GOOS != "windows" {
		return name, r.root.Symlink(target, name)
	}
	// There a link to a directory is made as one, which a root does only for what is in it.
	if err := os.Symlink(target, r.path(name)); err != nil {
		return "", err
	}
	_, err = os.Stat(r.path(name))
	return name, err
}

// files makes directories, and files in them, and returns their h1.
func (r *replica) files() (checksum.Hash, error) {
	from, err := os.OpenRoot(r.from)
	if err != nil {
		return checksum.Hash{}, err
	}
	defer from.Close()
	t, err := listTree(r.ctx, from)
	if err != nil {
		return checksum.Hash{}, err
	}
	limits, entries := r.limits.Effective(), len(t.files)+len(t.dirs)-1 // archives do not count the top
	if !r.trusted && (t.size > limits.Unpacked || entries > limits.Entries) {
		return checksum.Hash{}, fmt.Errorf("%d bytes in %d files: %w", t.size, len(t.files), provider.ErrTooLarge)
	}
	for i, dir := range t.dirs {
		t.dirs[i] = path.Join(r.tree(), dir)
		if err := r.root.Mkdir(t.dirs[i], 0o755); err != nil {
			return checksum.Hash{}, err
		}
	}
	h1, err := t.h1(func(name string) ([sha256.Size]byte, error) { return r.file(from, name) })
	if err != nil {
		return checksum.Hash{}, err
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
