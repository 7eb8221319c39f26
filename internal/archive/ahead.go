package archive

import (
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"strings"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive/inflate"
	"github.com/tofureg/tofureg/internal/fault"
)

// Ahead is the result of [UnpackAhead].
type Ahead struct {
	tree  *tree
	files map[string]aheadFile // by name
	err   error                // why the archive is refused
}

// aheadFile is a file that UnpackAhead has unpacked.
type aheadFile struct {
	member // without mode, attributes and header
	sum    [sha256.Size]byte
}

// Kept is a file that keeps the parts of an archive that are needed again.
type Kept interface {
	io.ReaderAt
	io.WriterAt
}

// UnpackAhead unpacks a zip archive while it is received from r, which it reads to the end. It reads
// the headers before the contents, although only the directory at the end of the archive is
// authoritative. So the result can be used only with [Zip.UnpackRest], which compares the two.
//
// All bytes but the contents of the unpacked files are written to kept, at their offsets. This is
// enough for [OpenZip] and UnpackRest. UnpackAhead returns the errors of r, kept and ctx only.
//
// UnpackAhead refuses the names that OpenZip refuses. At any unusual data, and after 1,000 files and
// directories, it stops unpacking; UnpackRest unpacks the rest. If the content is more than about
// twenty times as large as what was read, UnpackAhead keeps the rest of r, calls accepted, and goes on
// if this returns nil. Until then the archive has not been verified, so other programs must not use
// root.
func UnpackAhead(ctx context.Context, r io.Reader, kept Kept, root *os.Root, l Limits, accepted func() error) (*Ahead, error) {
	limits := l.Effective()
	a := &Ahead{tree: newTree(ctx, root, Options{}), files: map[string]aheadFile{}}
	defer a.tree.copier.release()
	s := &stream{ctx: ctx, count: &counter{r: Until(ctx, r)}, kept: kept, accepted: accepted, names: names{limits: limits}}
	s.in = bufio.NewReaderSize(s.count, 64<<10)
	s.inflate = inflate.NewReader(s.in)
	for max := min(limits.Entries, maxAhead); len(a.files)+len(a.tree.made) <= max && a.next(s) == nil; {
	}
	switch {
	case a.err != nil && !errors.Is(a.err, failure.ErrArchive) && !errors.Is(a.err, failure.ErrTooLarge):
		return nil, a.err
	case s.accepted == nil:
		return a, nil
	}
	return a, s.keepRest()
}

// maxAhead is the number of files and directories after which UnpackAhead stops: the package may be
// refused, and removing them takes time. Packages of providers have less than a hundred.
const maxAhead = 1000

// Len returns the number of unpacked files.
func (a *Ahead) Len() int { return len(a.files) }

// A stream is the archive that UnpackAhead reads.
type stream struct {
	ctx      context.Context
	in       *bufio.Reader
	count    *counter // what in reads
	kept     Kept
	accepted func() error // nil after the call
	names    names
	written  int64           // bytes of complete files
	inflate  *inflate.Reader // of in; it takes no byte too many
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

// keep takes n bytes, and keeps them.
func (s *stream) keep(n int) ([]byte, error) {
	at, b := s.at(), make([]byte, n)
	n, err := io.ReadFull(s.in, b)
	if _, kept := s.kept.WriteAt(b[:n], at); kept != nil {
		err = kept
	}
	return b, err
}

// keepRest keeps all bytes that have not been taken, to the end of the archive.
func (s *stream) keepRest() error {
	b, _ := s.in.Peek(s.in.Buffered())
	if _, err := s.kept.WriteAt(b, s.at()); err != nil {
		return err
	}
	buf := buffers.Get().(*[128 << 10]byte)
	defer buffers.Put(buf)
	_, err := io.CopyBuffer(io.NewOffsetWriter(s.kept, s.count.n), s.count.r, buf[:])
	return err
}

// await keeps the rest of the archive, and waits until it is accepted. Then it is read from kept.
func (s *stream) await() error {
	if err := s.keepRest(); err != nil {
		return err
	}
	accepted := s.accepted
	s.accepted = nil
	s.count.r = Until(s.ctx, io.NewSectionReader(s.kept, s.count.n, math.MaxInt64-s.count.n))
	return accepted()
}

// errUnusual ends UnpackAhead.
var errUnusual = errors.New("unusual")

// next unpacks the next entry. It removes an incomplete file.
func (a *Ahead) next(s *stream) error {
	header, err := s.keep(localLen)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	flags, method := le.Uint16(header[6:]), le.Uint16(header[8:])
	stored := method == zip.Store
	if string(header[:4]) != localSig || flags&encrypted != 0 || !stored && method != zip.Deflate {
		return errUnusual
	}
	name, err := s.keep(int(le.Uint16(header[26:])))
	if err != nil {
		return err
	}
	if _, err := s.keep(int(le.Uint16(header[28:]))); err != nil {
		return err
	}
	m := member{Entry: Entry{Name: string(name)}, method: method, flags: flags, packed: int64(le.Uint32(header[18:]))}
	if _, err := s.names.add(m.Name); err != nil {
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
			if a.err = err; damaged(err) != err {
				a.err = bad("entry %.100q: %w", m.Name, err)
			}
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
		switch {
		case size > s.names.limits.Unpacked-s.written:
			return tooLarge("its content has more than %d bytes", s.names.limits.Unpacked)
		case s.accepted != nil && s.written+size > free+ratio*s.at():
			return s.await()
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
		return bad("entry %.100q: another size or checksum after the content", m.Name)
	}
	_, err := s.keep(n)
	return err
}

// UnpackRest completes the work of [UnpackAhead] below root, with the same result as [Zip.Unpack]. z
// must be what UnpackAhead has kept.
//
// The name, offset, sizes and checksum of each unpacked file must agree with the directory. In an
// archive that OpenZip accepts they do, unless its contents are damaged.
func (z *Zip) UnpackRest(ctx context.Context, root *os.Root, a *Ahead) ([]File, error) {
	if a.err != nil {
		return nil, a.err
	}
	if !z.matches(a) {
		return nil, bad("contents and directory differ")
	}
	t := newTree(ctx, root, z.o)
	defer t.copier.release()
	t.made = a.tree.made
	return z.unpack(t, a.files)
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

// complete checks and completes an unpacked file.
func (t *tree) complete(e Entry) error {
	if t.ctx.Err() != nil {
		return fault.Ended(t.ctx)
	}
	info, err := t.root.Lstat(e.Name)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Size() != e.Size:
		return bad("entry %.100q was changed after it was unpacked", e.Name)
	case t.executable(e):
		mode := info.Mode().Perm()
		return t.root.Chmod(e.Name, mode|mode&0o444>>2) // 0755 less the umask
	}
	return nil
}
