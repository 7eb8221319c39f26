package archive

import (
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/inflate"
)

// Ahead is the result of [UnpackAhead].
type Ahead struct {
	tree  *tree
	files map[string]aheadFile // by name
}

// aheadFile is a file that UnpackAhead has unpacked.
type aheadFile struct {
	member // without mode, attributes and header
	sum    [sha256.Size]byte
}

// UnpackAhead unpacks a zip archive while it is received from r. It reads the headers before the
// contents, although only the directory at the end of the archive is authoritative. So the result
// can be used only with [Zip.UnpackRest], which compares the two.
//
// UnpackAhead refuses the names that OpenZip refuses. It writes at most the content that the limits
// allow, and about twenty times the bytes that it has read. At any unusual data, and after 1,000 files
// and directories, it stops without an error; UnpackRest unpacks the rest. The archive has not been
// verified yet, so other programs must not use root.
func UnpackAhead(ctx context.Context, r io.Reader, root *os.Root, l Limits) *Ahead {
	limits := l.Effective()
	a := &Ahead{tree: newTree(ctx, root, Options{}), files: map[string]aheadFile{}}
	count := &counter{r: Until(ctx, r)}
	in := bufio.NewReaderSize(count, 64<<10)
	s := stream{in: in, count: count, names: names{limits: limits}, inflate: inflate.NewReader(in)}
	for max := min(limits.Entries, maxAhead); len(a.files)+len(a.tree.made) <= max && a.next(&s) == nil; {
	}
	a.tree.copier.release()
	return a
}

// maxAhead is the number of files and directories after which UnpackAhead stops: the package may be
// refused, and removing them takes time. Packages of providers have less than a hundred.
const maxAhead = 1000

// Len returns the number of unpacked files.
func (a *Ahead) Len() int { return len(a.files) }

// A stream is the archive that UnpackAhead reads.
type stream struct {
	in      *bufio.Reader
	count   *counter // what in reads
	names   names
	written int64           // bytes of complete files
	inflate *inflate.Reader // of in; it takes no byte too many
}

// counter counts the bytes that are read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// at returns the offset of the next byte in the archive.
func (s *stream) at() int64 { return s.count.n - int64(s.in.Buffered()) }

// errUnusual ends UnpackAhead.
var errUnusual = errors.New("unusual")

// next unpacks the next entry. It removes an incomplete file.
func (a *Ahead) next(s *stream) error {
	var header [localLen]byte
	if _, err := io.ReadFull(s.in, header[:]); err != nil {
		return err
	}
	le := binary.LittleEndian
	flags, method := le.Uint16(header[6:]), le.Uint16(header[8:])
	stored := method == zip.Store
	if string(header[:4]) != localSig || flags&encrypted != 0 || !stored && method != zip.Deflate {
		return errUnusual
	}
	name := make([]byte, le.Uint16(header[26:]))
	if _, err := io.ReadFull(s.in, name); err != nil {
		return err
	}
	if _, err := s.in.Discard(int(le.Uint16(header[28:]))); err != nil {
		return err
	}
	m := member{Entry: Entry{Name: string(name)}, method: method, flags: flags, packed: int64(le.Uint32(header[18:]))}
	if err := s.names.add(m.Name); err != nil {
		return err
	}
	m.start = s.at()
	if m.IsDir() {
		if m.packed != 0 {
			return errUnusual
		}
		if err := a.tree.mkdir(strings.TrimSuffix(m.Name, "/")); err != nil {
			return err
		}
		return s.skipDescriptor(&m)
	}
	if stored && (flags&descriptor != 0 || m.packed == elsewhere) {
		return errUnusual // the end of the content is unknown
	}
	created := false
	got, err := a.tree.file(m.Entry, func(w io.Writer) (content, error) {
		created = true
		return s.content(a.tree.copier, w, &m)
	})
	if err == nil {
		err = s.skipDescriptor(&m)
	}
	if err != nil {
		if created {
			a.tree.root.Remove(m.Name)
		}
		return err
	}
	s.written += m.Size
	a.files[m.Name] = aheadFile{m, got.sum}
	return nil
}

// content writes the content of m and sets its sizes and checksum.
func (s *stream) content(c *copier, w io.Writer, m *member) (content, error) {
	packed := m.packed
	var r io.Reader = io.LimitReader(s.in, packed)
	if m.method == zip.Deflate {
		s.inflate.Reset(s.in)
		r = s.inflate
	}
	got, err := c.copy(w, r, func(size int64) error {
		// Programs and documents deflate to a third or a tenth, bombs to a thousandth.
		const free, ratio = 4 << 20, 20
		if size > s.names.limits.Unpacked-s.written || s.written+size > free+ratio*s.at() {
			return errUnusual
		}
		return nil
	})
	m.Size, m.crc, m.packed = got.size, got.crc, s.at()-m.start
	if err == nil && m.method == zip.Store && m.packed != packed {
		err = io.ErrUnexpectedEOF
	}
	return got, err
}

// skipDescriptor skips the descriptor after the content of m, if there is one.
func (s *stream) skipDescriptor(m *member) error {
	if m.flags&descriptor == 0 {
		return nil
	}
	after, _ := s.in.Peek(maxDescriptor) // may be less at the end of the archive
	n := m.descriptor(after)
	if n == 0 {
		return errUnusual
	}
	_, err := s.in.Discard(n)
	return err
}

// ErrAhead: the unpacked files differ from the directory of the archive.
var ErrAhead = errors.New("archive: contents and directory differ")

// UnpackRest completes the work of [UnpackAhead] below root, with the same result as [Zip.Unpack].
// The name, offset, sizes and checksum of each unpacked file must agree with the directory. If not,
// the error is ErrAhead, nothing was changed, and the caller must empty root and call Unpack.
//
// CRC-32 is easily forged. So UnpackAhead must have read the bytes of z and not another archive.
func (z *Zip) UnpackRest(ctx context.Context, root *os.Root, a *Ahead) ([]File, error) {
	if !z.matches(a) {
		return nil, ErrAhead
	}
	t := newTree(ctx, root, z.o)
	t.made = a.tree.made
	return t.finish(z.unpack(t, a.files))
}

// matches reports whether the directory describes all unpacked files and directories.
func (z *Zip) matches(a *Ahead) bool {
	found, dirs := 0, map[string]bool{".": true}
	for _, m := range z.members {
		path := m.Name
		if m.IsDir() {
			path = path[:len(path)-1]
			dirs[path] = true
		}
		for path = parent(path); !dirs[path]; path = parent(path) {
			dirs[path] = true
		}
		if f, ok := a.files[m.Name]; ok {
			if f.start != m.start || f.method != m.method || f.crc != m.crc || f.packed != m.packed || f.Size != m.Size {
				return false
			}
			found++
		}
	}
	for dir := range a.tree.made {
		if !dirs[dir] {
			return false
		}
	}
	return found == len(a.files)
}

// complete checks, completes and closes an unpacked file.
func (t *tree) complete(e Entry) error {
	if t.ctx.Err() != nil {
		return fault.Ended(t.ctx)
	}
	f, err := t.root.OpenFile(e.Name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular() || info.Size() != e.Size:
		err = bad("entry %.100q was changed after it was unpacked", e.Name)
	case t.executable(e):
		mode := info.Mode().Perm()
		err = f.Chmod(mode | mode&0o444>>2) // 0755 less the umask
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return t.close(f)
}
