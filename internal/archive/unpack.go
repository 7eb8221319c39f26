package archive

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/internal/fault"
)

// Options for unpacking. The zero value works.
type Options struct {
	// Written is told of every n bytes that have been written; nil: nobody is.
	Written func(n int)

	// Sync has each file written through to the disk before it is closed.
	Sync bool

	// Skip is told the name of each symbolic link in a tar, which is then left
	// out; nil: an archive with links is refused. For a zip see [OpenZipSkip].
	Skip func(name string)
}

// Hash reads all content and returns each entry with its checksum, in the order of
// the archive.
func (z *Zip) Hash(ctx context.Context) ([]File, error) {
	c := newCopier(ctx)
	defer c.release()
	files := make([]File, 0, len(z.entries))
	for i := range z.entries {
		f, err := z.read(i, c, nil)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// Unpack writes the content below root and returns each entry with the checksum of
// what was written, in the order of the archive: content is inflated once. It
// creates everything itself, with mode 0755 for directories and executable files
// and 0644 for others (less the umask), and stops at the first file or directory
// that is there already, so root should be empty and nobody else's. Other mode
// bits, times and owners are not restored.
//
// After an error some of the content has been written; the caller removes it.
func (z *Zip) Unpack(ctx context.Context, root *os.Root, o Options) ([]File, error) {
	t := newTree(ctx, root, o)
	defer t.release()
	files := make([]File, 0, len(z.entries))
	for i := range z.entries {
		f, err := z.unpack(i, t)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// unpack writes entry i.
func (z *Zip) unpack(i int, t *tree) (File, error) {
	e := z.entries[i]
	if e.IsDir() {
		return z.directory(i, t)
	}
	return t.file(e, func(w io.Writer) (File, error) { return z.read(i, t.copier, w) })
}

func (z *Zip) directory(i int, t *tree) (File, error) {
	if err := t.mkdir(strings.TrimSuffix(z.entries[i].Name, "/")); err != nil {
		return File{}, err
	}
	return z.read(i, t.copier, nil)
}

// read inflates entry i into w, if that is not nil, and hashes it.
func (z *Zip) read(i int, c *copier, w io.Writer) (File, error) {
	e, f := z.entries[i], z.files[i]
	r, err := f.Open()
	if err != nil {
		return File{}, damaged(err)
	}
	defer r.Close()
	// Where there is no descriptor, archive/zip takes a checksum of zero for none.
	if f.CRC32 != 0 || f.Flags&descriptor != 0 {
		sum, err := c.copy(w, r, e)
		return File{Entry: e, Sum: sum}, err
	}
	crc := crc32.NewIEEE()
	sum, err := c.copy(w, io.TeeReader(r, crc), e)
	if err == nil && crc.Sum32() != 0 {
		err = damagedEntry(e, zip.ErrChecksum)
	}
	return File{Entry: e, Sum: sum}, err
}

// A copier moves content through one buffer and one hash.
type copier struct {
	ctx     context.Context
	written func(int)
	buf     *[256 << 10]byte
	sum     hash.Hash
}

var buffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

func newCopier(ctx context.Context) *copier {
	return &copier{ctx: ctx, buf: buffers.Get().(*[256 << 10]byte), sum: sha256.New()}
}

func (c *copier) release() { buffers.Put(c.buf) }

// copy reads r to its end. It does not rely on r to keep to e.Size.
func (c *copier) copy(w io.Writer, r io.Reader, e Entry) (sum [sha256.Size]byte, err error) {
	c.sum.Reset()
	for size := int64(0); ; {
		if c.ctx.Err() != nil {
			return sum, fault.Ended(c.ctx)
		}
		n, err := r.Read(c.buf[:])
		size += int64(n)
		if size > e.Size {
			return sum, bad("entry %.100q is longer than the %d bytes announced", e.Name, e.Size)
		}
		c.sum.Write(c.buf[:n])
		if w != nil && n > 0 {
			if _, err := w.Write(c.buf[:n]); err != nil {
				return sum, err
			}
			if c.written != nil {
				c.written(n)
			}
		}
		switch {
		case err == io.EOF && size < e.Size:
			return sum, bad("entry %.100q is shorter than the %d bytes announced", e.Name, e.Size)
		case err == io.EOF:
			return [sha256.Size]byte(c.sum.Sum(sum[:0])), nil
		case err != nil:
			return sum, damagedEntry(e, err)
		}
	}
}

// damagedEntry is damaged with the name of the entry.
func damagedEntry(e Entry, err error) error {
	switch d := damaged(err); {
	case d == err: // not the archive's fault
		return err
	default:
		return bad("entry %.100q: %w", e.Name, err)
	}
}

// A tree is a directory that an archive is unpacked into, of whatever format.
type tree struct {
	*copier
	root *os.Root
	sync bool
	made map[string]bool // directories that are there because of us
}

func newTree(ctx context.Context, root *os.Root, o Options) *tree {
	c := newCopier(ctx)
	c.written = o.Written
	return &tree{copier: c, root: root, sync: o.Sync, made: map[string]bool{".": true}}
}

// mkdir makes the directory path and those above it.
func (t *tree) mkdir(path string) error {
	if t.made[path] {
		return nil
	}
	if err := t.mkdir(parent(path)); err != nil {
		return err
	}
	if err := t.root.Mkdir(path, 0o755); err != nil {
		return occupied(err)
	}
	t.made[path] = true
	return nil
}

// file makes the file of e and has fill write its content.
func (t *tree) file(e Entry, fill func(io.Writer) (File, error)) (f File, err error) {
	if err := t.mkdir(parent(e.Name)); err != nil {
		return File{}, err
	}
	mode := fs.FileMode(0o644)
	if e.Exec {
		mode = 0o755
	}
	out, err := t.root.OpenFile(e.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return File{}, occupied(err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if f, err = fill(out); err != nil {
		return File{}, err
	}
	if t.sync {
		err = out.Sync()
	}
	return f, err
}

// parent returns the directory of a slash-separated name, "." for the root.
func parent(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return "."
}

// occupied explains that something stands where an entry belongs: what was there
// before, or an earlier entry that only this file system takes for the same.
func occupied(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return bad("its place is taken: %w", err)
	}
	return err
}
