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
// and directories, it stops without an error; UnpackRest unpacks the rest. The archive has not been verified yet, so other programs must
// not use root.
func UnpackAhead(ctx context.Context, r io.Reader, root *os.Root, l Limits) *Ahead {
	limits := l.Effective()
	a := &Ahead{tree: newTree(ctx, root, Options{}), files: map[string]aheadFile{}}
	count := &counter{r: Until(ctx, r)}
	in := bufio.NewReaderSize(count, 64<<10)
	run := aheadRun{Ahead: a, in: in, count: count, names: names{limits: limits}, inflate: inflate.NewReader(in)}
	for max := min(limits.Entries, maxAhead); len(a.files)+len(a.tree.made) <= max && run.next() == nil; {
	}
	a.tree.release()
	return a
}

// maxAhead is the number of files and directories after which UnpackAhead stops: the package may be
// refused, and removing them takes time. Packages of providers have less than a hundred.
const maxAhead = 1000

// Len returns the number of unpacked files.
func (a *Ahead) Len() int { return len(a.files) }

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

type aheadRun struct {
	*Ahead
	in      *bufio.Reader
	count   *counter
	names   names
	written int64           // bytes of complete files
	inflate *inflate.Reader // of in; it takes no byte too many
}

// at returns the offset of the next byte in the archive.
func (a *aheadRun) at() int64 { return a.count.n - int64(a.in.Buffered()) }

// errUnusual ends UnpackAhead.
var errUnusual = errors.New("unusual")

// next unpacks the next entry.
func (a *aheadRun) next() error {
	var header [localLen]byte
	if _, err := io.ReadFull(a.in, header[:]); err != nil {
		return err
	}
	le := binary.LittleEndian
	flags, method := le.Uint16(header[6:]), le.Uint16(header[8:])
	stored := method == zip.Store
	if string(header[:4]) != localSig || flags&encrypted != 0 || !stored && method != zip.Deflate {
		return errUnusual
	}
	name := make([]byte, le.Uint16(header[26:]))
	if _, err := io.ReadFull(a.in, name); err != nil {
		return err
	}
	if _, err := a.in.Discard(int(le.Uint16(header[28:]))); err != nil {
		return err
	}
	m := member{Entry: Entry{Name: string(name)}, method: method, flags: flags, packed: int64(le.Uint32(header[18:]))}
	if err := a.names.add(m.Name); err != nil {
		return err
	}
	m.start = a.at()
	switch {
	case stored && (flags&descriptor != 0 && !m.IsDir() || m.packed == elsewhere):
		return errUnusual // the end of the content is unknown
	case m.IsDir():
		return a.directory(&m)
	}
	return a.file(m)
}

func (a *aheadRun) directory(m *member) error {
	if m.packed != 0 {
		return errUnusual
	}
	if err := a.tree.mkdir(strings.TrimSuffix(m.Name, "/")); err != nil {
		return err
	}
	return a.skipDescriptor(m)
}

// file unpacks one file. It removes an incomplete file.
func (a *aheadRun) file(m member) error {
	created := false
	f, err := a.tree.file(m.Entry, func(w io.Writer) (File, error) {
		created = true
		return a.content(w, &m)
	})
	if err == nil {
		err = a.skipDescriptor(&m)
	}
	if err != nil {
		if created {
			a.tree.root.Remove(m.Name)
		}
		return err
	}
	a.written += m.Size
	a.files[m.Name] = aheadFile{m, f.Sum}
	return nil
}

// content writes the content of m and sets its sizes and checksum.
func (a *aheadRun) content(w io.Writer, m *member) (File, error) {
	packed := m.packed
	var r io.Reader = io.LimitReader(a.in, packed)
	if m.method == zip.Deflate {
		a.inflate.Reset(a.in)
		r = a.inflate
	}
	got, err := a.tree.copy(w, r, a.allow)
	m.Size, m.crc, m.packed = got.size, got.crc, a.at()-m.start
	if err == nil && m.method == zip.Store && m.packed != packed {
		err = io.ErrUnexpectedEOF
	}
	return File{Entry: m.Entry, Sum: got.sum}, err
}

// allow returns an error if a file of this size must not be written yet. Programs and documents
// deflate to a third or a tenth, bombs to a thousandth.
func (a *aheadRun) allow(size int64) error {
	const free, ratio = 4 << 20, 20
	if size > a.names.limits.Unpacked-a.written || a.written+size > free+ratio*a.at() {
		return errUnusual
	}
	return nil
}

// skipDescriptor skips the descriptor after the content of m, if there is one.
func (a *aheadRun) skipDescriptor(m *member) error {
	if m.flags&descriptor == 0 {
		return nil
	}
	after, _ := a.in.Peek(maxDescriptor) // may be less at the end of the archive
	n := m.descriptor(after)
	if n == 0 {
		return errUnusual
	}
	_, err := a.in.Discard(n)
	return err
}
