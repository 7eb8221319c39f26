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

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// placement copies or links an unpacked package into a staging directory.
type placement struct {
	content
	*staging
	from   string // a directory, or a symbolic link to one
	how    LinkMode
	typ    string          // of the provider
	limits checksum.Limits // for what is made, unless it is trusted

	// trusted says that the package has just been judged. A symbolic link to it need not
	// be hashed again, and no limits apply.
	trusted bool

	syncs errgroup.Group // of the files that are being written through to the disk
}

// make makes the package and has its h1 judged. It returns its name in the staging
// directory.
func (p *placement) make(judge func(checksum.Hash) error) (finished string, err error) {
	if p.how, err = p.how.effective(); err != nil {
		return "", err
	}
	if p.how == Symlink {
		if finished, err := p.symlink(); err == nil {
			return finished, p.judgeThere(judge)
		}
	}
	h1, err := p.files()
	if err != nil {
		return "", err
	}
	return p.tree(), judge(h1)
}

// judgeThere has the package judged that a symbolic link leads to.
func (p *placement) judgeThere(judge func(checksum.Hash) error) error {
	root, err := os.OpenRoot(p.from)
	if err != nil {
		return err
	}
	root.Close()
	if p.trusted {
		return nil
	}
	h1, err := h1Of(p.ctx, p.from)
	if err != nil {
		return err
	}
	return judge(h1)
}

func (p *placement) symlink() (string, error) {
	target, err := filepath.Abs(p.from)
	if err != nil {
		return "", err
	}
	name := p.name + "/link"
	if runtime.GOOS != "windows" {
		return name, p.root.Symlink(target, name)
	}
	// There a link to a directory is made as one, which a root does only for what is in it.
	if err := os.Symlink(target, p.path(name)); err != nil {
		return "", err
	}
	_, err = os.Stat(p.path(name))
	return name, err
}

// files makes directories, and files in them, and returns their h1.
func (p *placement) files() (checksum.Hash, error) {
	from, err := os.OpenRoot(p.from)
	if err != nil {
		return checksum.Hash{}, err
	}
	defer from.Close()
	t, err := listTree(p.ctx, from)
	if err != nil {
		return checksum.Hash{}, err
	}
	limits, entries := p.limits.Effective(), len(t.files)+len(t.dirs)-1 // archives do not count the top
	if !p.trusted && (t.size > limits.Unpacked || entries > limits.Entries) {
		return checksum.Hash{}, fmt.Errorf("%d bytes in %d files: %w", t.size, len(t.files), provider.ErrTooLarge)
	}
	for i, dir := range t.dirs {
		t.dirs[i] = path.Join(p.tree(), dir)
		if err := p.root.Mkdir(t.dirs[i], 0o755); err != nil {
			return checksum.Hash{}, err
		}
	}
	p.syncs.SetLimit(8) // which bounds the open files, too
	h1, err := t.h1(func(name string) ([sha256.Size]byte, error) { return p.file(from, name) })
	if failed := p.syncs.Wait(); err == nil {
		err = failed
	}
	if err != nil {
		return checksum.Hash{}, err
	}
	return h1, p.sync(t.dirs)
}

// file makes one file and returns the checksum of what it holds.
func (p *placement) file(from *os.Root, name string) (sum [sha256.Size]byte, err error) {
	to := p.tree() + "/" + name
	if p.how == HardLink && os.Link(filepath.Join(p.from, filepath.FromSlash(name)), p.path(to)) == nil {
		return p.hash(p.root, to)
	}
	in, err := openFile(from, name)
	if err != nil {
		return sum, err
	}
	defer in.Close()
	mode, err := p.mode(in, name)
	if err != nil {
		return sum, err
	}
	out, err := p.root.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return sum, err
	}
	if p.how == Reflink && fsx.Clone(out, in) == nil {
		sum, err = p.hash(p.root, to)
	} else {
		sum, err = p.copy(out, in)
	}
	if err != nil {
		return sum, errors.Join(err, out.Close())
	}
	p.syncs.Go(func() error { return errors.Join(out.Sync(), out.Close()) })
	return sum, nil
}

// mode is 0755 for what can be run, and 0644 for the rest.
func (p *placement) mode(in *os.File, name string) (fs.FileMode, error) {
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	if info.Mode()&0o111 != 0 || isProgram(name, p.typ) {
		return 0o755, nil
	}
	return 0o644, nil
}
