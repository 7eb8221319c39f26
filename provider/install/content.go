package install

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// H1 returns the h1 of what is in the package's directory at this moment. The error
// wraps checksum.ErrIrregular if there is anything but files and directories: the CLI
// follows links there.
func (p *Package) H1(ctx context.Context) (checksum.Hash, error) { return h1Of(ctx, p.Dir) }

// h1Of returns the h1 of a directory, or of what it is a link to.
func h1Of(ctx context.Context, dir string) (checksum.Hash, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return checksum.Hash{}, err
	}
	defer root.Close()
	t, err := listTree(ctx, root)
	if err != nil {
		return checksum.Hash{}, err
	}
	c := &content{ctx: ctx}
	return t.h1(func(name string) ([sha256.Size]byte, error) { return c.hash(root, name) })
}

// tree is what a package consists of, as slash-separated names.
type tree struct {
	dirs, files []string // dirs has the top, ".", and each directory before what is in it
	size        int64
}

func listTree(ctx context.Context, root *os.Root) (*tree, error) {
	t := &tree{}
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return fault.Ended(ctx)
		case d.IsDir():
			t.dirs = append(t.dirs, name)
			return nil
		case !d.Type().IsRegular():
			return irregular(name)
		}
		info, err := d.Info()
		if err == nil {
			t.files = append(t.files, name)
			t.size += info.Size()
		}
		return err
	})
	return t, err
}

func irregular(name string) error {
	return fmt.Errorf("%w: %.200q is neither file nor directory", checksum.ErrIrregular, name)
}

// h1 returns the h1 of the files, whose sums it asks for one after the other: most of a
// package is a single file.
func (t *tree) h1(sum func(name string) ([sha256.Size]byte, error)) (checksum.Hash, error) {
	var failed error
	h1, err := checksum.H1Sum(func(yield func(string, [sha256.Size]byte) bool) {
		for _, name := range t.files {
			var s [sha256.Size]byte
			if s, failed = sum(name); failed != nil || !yield(name, s) {
				return
			}
		}
	})
	if failed != nil {
		return checksum.Hash{}, failed
	}
	return h1, err
}

// content reads files until its context ends.
type content struct{ ctx context.Context }

// hash returns the checksum of a file.
func (c *content) hash(root *os.Root, name string) ([sha256.Size]byte, error) {
	f, err := openFile(root, name)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	defer f.Close()
	return c.copy(io.Discard, f)
}

// openFile opens a file, unless it has been replaced since the directory was listed.
func openFile(root *os.Root, name string) (*os.File, error) {
	f, err := fsx.OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = irregular(name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

var contentBuffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// copy writes what r holds to w and returns its checksum.
func (c *content) copy(w io.Writer, r io.Reader) (sum [sha256.Size]byte, err error) {
	buf := contentBuffers.Get().(*[256 << 10]byte)
	defer contentBuffers.Put(buf)
	h := sha256.New()
	for {
		if c.ctx.Err() != nil {
			return sum, fault.Ended(c.ctx)
		}
		n, err := r.Read(buf[:])
		h.Write(buf[:n])
		if _, err := w.Write(buf[:n]); err != nil {
			return sum, err
		}
		if err == io.EOF {
			return [sha256.Size]byte(h.Sum(sum[:0])), nil
		}
		if err != nil {
			return sum, err
		}
	}
}
