package archive

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/internal/fault"
)

// A tree is a directory that an archive is unpacked into.
type tree struct {
	ctx    context.Context
	root   *os.Root
	o      Options
	copier *copier
	made   map[string]bool // created directories
}

func newTree(ctx context.Context, root *os.Root, o Options) *tree {
	return &tree{ctx: ctx, root: root, o: o, copier: newCopier(ctx), made: map[string]bool{".": true}}
}

// mkdir creates the directory path and its parents.
func (t *tree) mkdir(path string) error {
	if t.made[path] {
		return nil
	}
	if err := t.mkdir(parent(path)); err != nil {
		return err
	}
	if err := t.root.Mkdir(path, 0o755|t.o.Write); err != nil {
		return existing(path, err)
	}
	t.made[path] = true
	return nil
}

// file creates the file of e and calls fill to write its content.
func (t *tree) file(e Entry, fill func(io.Writer) (content, error)) (content, error) {
	if err := t.mkdir(parent(e.Name)); err != nil {
		return content{}, err
	}
	mode := fs.FileMode(0o644)
	if t.executable(e) {
		mode = 0o755
	}
	out, err := t.root.OpenFile(e.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|t.o.Write)
	if err != nil {
		return content{}, existing(e.Name, err)
	}
	got, err := fill(out)
	return got, errors.Join(err, out.Close())
}

// link makes a symbolic link.
func (t *tree) link(name, target string) error {
	if err := t.mkdir(parent(name)); err != nil {
		return err
	}
	return existing(name, t.root.Symlink(filepath.FromSlash(target), name))
}

// checkKept checks that the file system has kept the names that only Windows reserves or changes: FAT
// drops dots, too.
func (t *tree) checkKept(files []File) error {
	kept := map[string]bool{} // by name; of each directory with such a name all are added
	for _, f := range files {
		for name := strings.TrimSuffix(f.Name, "/"); t.o.Native && name != "."; name = parent(name) {
			if kept[name] || checkName(name[strings.LastIndexByte(name, '/')+1:], false) == nil {
				continue
			}
			if t.ctx.Err() != nil {
				return fault.Ended(t.ctx)
			}
			dir := parent(name)
			entries, err := fs.ReadDir(t.root.FS(), dir)
			if err != nil {
				return err
			}
			for _, e := range entries {
				kept[path.Join(dir, e.Name())] = true
			}
			if !kept[name] {
				return bad("entry %.100q: the file system does not keep the name", name)
			}
		}
	}
	return nil
}

// executable reports whether the file of e gets an executable mode.
func (t *tree) executable(e Entry) bool { return e.Exec || t.o.Exec != nil && t.o.Exec(e.Name) }

// parent returns the directory of a slash-separated name, "." for the root.
func parent(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return "."
}

// existing explains that a file exists already. It may come from an entry whose name is the same on
// this file system only.
func existing(name string, err error) error {
	err = fault.Printable(err)
	if errors.Is(err, fs.ErrExist) {
		return bad("entry %.100q: the file system already has this name, possibly in another case: %w", name, err)
	}
	return err
}

// A copier copies content through one buffer and one hash.
type copier struct {
	ctx context.Context
	buf *[128 << 10]byte
	sum hash.Hash
}

// content is the size and the checksums of what was copied.
type content struct {
	size int64
	crc  uint32
	sum  [sha256.Size]byte
}

var buffers = sync.Pool{New: func() any { return new([128 << 10]byte) }}

func newCopier(ctx context.Context) *copier {
	return &copier{ctx: ctx, buf: buffers.Get().(*[128 << 10]byte), sum: sha256.New()}
}

func (c *copier) release() { buffers.Put(c.buf) }

// copy reads r to its end and writes it to w, if w is not nil. It calls allow with the total size
// before each write.
func (c *copier) copy(w io.Writer, r io.Reader, allow func(size int64) error) (got content, err error) {
	c.sum.Reset()
	for {
		if c.ctx.Err() != nil {
			return got, fault.Ended(c.ctx)
		}
		// Large writes pay: Linux allocates their pages together.
		n := 0
		for n < len(c.buf) && err == nil {
			var more int
			more, err = r.Read(c.buf[n:])
			n += more
		}
		got.size += int64(n)
		if err := allow(got.size); err != nil {
			return got, err
		}
		got.crc = crc32.Update(got.crc, crc32.IEEETable, c.buf[:n])
		c.sum.Write(c.buf[:n])
		if w != nil && n > 0 {
			if _, err := w.Write(c.buf[:n]); err != nil {
				return got, err
			}
		}
		if err == io.EOF {
			got.sum = [sha256.Size]byte(c.sum.Sum(nil))
			return got, nil
		}
		if err != nil {
			return got, err
		}
	}
}

// entry copies the content of e and checks its size.
func (c *copier) entry(w io.Writer, r io.Reader, e Entry) (content, error) {
	got, err := c.copy(w, r, func(size int64) error {
		if size > e.Size {
			return bad("entry %.100q is longer than the %d bytes announced", e.Name, e.Size)
		}
		return nil
	})
	switch {
	case err == nil && got.size < e.Size:
		err = bad("entry %.100q is shorter than the %d bytes announced", e.Name, e.Size)
	case damaged(err) != err:
		err = bad("entry %.100q: %w", e.Name, err)
	}
	return got, err
}

// WriteTree writes a directory as a tar archive, which is the same for the same names, contents, links and
// executable files. omit reports whether it leaves out the files and directories of a name.
func WriteTree(w io.Writer, fsys fs.FS, omit func(name string) bool) error {
	tw := tar.NewWriter(w)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case omit(d.Name()) && d.IsDir():
			return fs.SkipDir
		case omit(d.Name()):
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			if target, err = fs.ReadLink(fsys, name); err != nil {
				return err
			}
		}
		h, err := tar.FileInfoHeader(info, filepath.ToSlash(target))
		if err != nil {
			return bad("%.200q is neither a file nor a directory", name)
		}
		h = &tar.Header{Typeflag: h.Typeflag, Name: name, Linkname: h.Linkname, Size: h.Size, Mode: 0o644, Format: tar.FormatPAX}
		if d.IsDir() {
			h.Name += "/"
		}
		if info.Mode()&0o111 != 0 {
			h.Mode = 0o755
		}
		if err := tw.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
			return err
		}
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		// The file may have been replaced.
		if is, err := f.Stat(); err != nil || !is.Mode().IsRegular() {
			return errors.Join(bad("%.200q was replaced while it was copied", name), err)
		}
		_, err = io.Copy(tw, f)
		return err
	})
	return errors.Join(err, tw.Close())
}
