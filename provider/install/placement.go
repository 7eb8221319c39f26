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

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// placement copies or links an unpacked package into a staging directory.
type placement struct {
	*staging
	from   string          // a directory, or a symbolic link to one
	how    LinkMode        // to use
	typ    string          // of the provider
	limits checksum.Limits // of the copy, unless trusted is set

	// trusted: the package was verified. A symbolic link to it is not hashed again.
	trusted bool

	syncs errgroup.Group // files that are being synced
}

// build creates the copy or link, calls judge with its h1, and returns its name.
func (p *placement) build(ctx context.Context, judge func(checksum.Hash) error) (finished string, err error) {
	if p.how, err = p.how.effective(); err != nil {
		return "", err
	}
	if p.how == Symlink {
		if finished, err := p.symlink(); err == nil {
			return finished, p.judgeLinked(ctx, judge)
		}
	}
	h1, err := p.copyTree(ctx)
	if err != nil {
		return "", err
	}
	return p.tree(), judge(h1)
}

// judgeLinked calls judge with the h1 of the linked package.
func (p *placement) judgeLinked(ctx context.Context, judge func(checksum.Hash) error) error {
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
	// Windows needs a directory link, which Root.Symlink makes only for targets in the root.
	if err := os.Symlink(target, p.path(name)); err != nil {
		return "", err
	}
	_, err = os.Stat(p.path(name))
	return name, err
}

// copyTree copies or hard-links the package and returns the h1 of the result.
func (p *placement) copyTree(ctx context.Context) (checksum.Hash, error) {
	from, err := os.OpenRoot(p.from)
	if err != nil {
		return checksum.Hash{}, err
	}
	defer from.Close()
	var dirs []string
	var size int64
	sums := map[string][sha256.Size]byte{}
	limits := p.limits.Effective()
	p.syncs.SetLimit(8) // also bounds the open files
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
		entries := len(dirs) + len(sums) // this one included, the top directory not
		if !p.trusted && (size > limits.Unpacked || entries > limits.Entries) {
			return fmt.Errorf("%d bytes in %d files and directories: %w", size, entries, fault.ErrTooLarge)
		}
		if d.IsDir() {
			dirs = append(dirs, path.Join(p.tree(), name))
			return p.root.Mkdir(path.Join(p.tree(), name), 0o755)
		}
		sums[name], err = p.copyFile(ctx, from, name)
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
	return h1, p.sync(ctx, dirs)
}

// copyFile copies or hard-links one file and returns its checksum.
func (p *placement) copyFile(ctx context.Context, from *os.Root, name string) (sum [sha256.Size]byte, err error) {
	in, err := openFile(from, name)
	if err != nil {
		return sum, err
	}
	defer in.Close()
	to := p.tree() + "/" + name
	if p.how == HardLink && os.Link(filepath.Join(p.from, filepath.FromSlash(name)), p.path(to)) == nil {
		linked, err := openFile(p.root, to)
		if err != nil {
			return sum, err
		}
		defer linked.Close()
		return copyHashed(ctx, io.Discard, linked)
	}
	info, err := in.Stat()
	if err != nil {
		return sum, err
	}
	mode := fs.FileMode(0o644)
	if info.Mode()&0o111 != 0 || isProgram(name, p.typ) {
		mode = 0o755
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
