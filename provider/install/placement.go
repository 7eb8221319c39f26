package install

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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
	*staging
	from   string          // a directory, or a symbolic link to one
	how    LinkMode        // to use
	typ    string          // of the provider
	limits checksum.Limits // of what is made, unless it is trusted

	// trusted says that the package has just been judged. A symbolic link to it need not
	// be hashed again, and no limits apply.
	trusted bool

	syncs errgroup.Group // of the files that are being written through to the disk
}

// make makes the package and has its h1 judged. It returns its name in the staging
// directory.
func (p *placement) make(ctx context.Context, judge func(checksum.Hash) error) (finished string, err error) {
	if p.how, err = p.how.effective(); err != nil {
		return "", err
	}
	if p.how == Symlink {
		if finished, err := p.symlink(); err == nil {
			return finished, p.judgeThere(ctx, judge)
		}
	}
	h1, err := p.files(ctx)
	if err != nil {
		return "", err
	}
	return p.tree(), judge(h1)
}

// judgeThere has the package judged that a symbolic link leads to.
func (p *placement) judgeThere(ctx context.Context, judge func(checksum.Hash) error) error {
	root, err := os.OpenRoot(p.from)
	if err != nil {
		return err
	}
	defer root.Close()
	if p.trusted {
		return nil
	}
	h1, err := checksum.H1Dir(ctx, fsx.Tree(ctx, root))
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
func (p *placement) files(ctx context.Context) (checksum.Hash, error) {
	from, err := os.OpenRoot(p.from)
	if err != nil {
		return checksum.Hash{}, err
	}
	defer from.Close()
	var dirs []string
	var size int64
	sums := map[string][sha256.Size]byte{}
	limits := p.limits.Effective()
	p.syncs.SetLimit(8) // which bounds the open files, too
	err = fs.WalkDir(fsx.Tree(ctx, from), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case info.Mode().IsRegular():
			size += info.Size()
		case !d.IsDir():
			return irregular(name)
		}
		entries := len(dirs) + len(sums) // with this one; archives do not count the top
		if !p.trusted && (size > limits.Unpacked || entries > limits.Entries) {
			return fmt.Errorf("%d bytes in %d files and directories: %w", size, entries, provider.ErrTooLarge)
		}
		if d.IsDir() {
			dirs = append(dirs, path.Join(p.tree(), name))
			return p.root.Mkdir(path.Join(p.tree(), name), 0o755)
		}
		sums[name], err = p.file(ctx, from, name)
		return err
	})
	if failed := p.syncs.Wait(); err == nil {
		err = failed
	}
	if err != nil {
		return checksum.Hash{}, err
	}
	h1, err := checksum.H1Sum(maps.All(sums))
	if err != nil {
		return checksum.Hash{}, err
	}
	return h1, p.sync(dirs)
}

// file makes one file and returns the checksum of what it holds.
func (p *placement) file(ctx context.Context, from *os.Root, name string) (sum [sha256.Size]byte, err error) {
	in, err := openFile(from, name)
	if err != nil {
		return sum, err
	}
	defer in.Close()
	to := p.tree() + "/" + name
	if p.how == HardLink && os.Link(filepath.Join(p.from, filepath.FromSlash(name)), p.path(to)) == nil {
		return p.hash(ctx, to)
	}
	mode, err := p.mode(in, name)
	if err != nil {
		return sum, err
	}
	out, err := p.root.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return sum, err
	}
	if sum, err = copyHashed(ctx, out, in); err != nil {
		return sum, errors.Join(err, out.Close())
	}
	p.syncs.Go(func() error { return errors.Join(out.Sync(), out.Close()) })
	return sum, nil
}

// hash returns the checksum of a file that was made.
func (p *placement) hash(ctx context.Context, name string) (sum [sha256.Size]byte, err error) {
	f, err := openFile(p.root, name)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	return copyHashed(ctx, io.Discard, f)
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
