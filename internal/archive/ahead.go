package archive

import (
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/tofureg/tofureg/internal/fault"
)

// Ahead is what has been unpacked of a zip archive before all of it was there.
type Ahead struct {
	tree  *tree
	files map[string]early // by name
}

// early is a file that was unpacked early.
type early struct {
	method uint16
	sum    [sha256.Size]byte
	crc    uint32
	offset int64 // of the packed content in the archive
	packed int64 // size of that
	size   int64
}

// UnpackAhead unpacks a zip archive from its first byte on, while it arrives: r gives its
// bytes as they come. It goes by the headers before the contents, while only the directory
// at the end counts: so what it has written is worth something only to
// [Zip.UnpackRest], which compares the two.
//
// It refuses the names that OpenZip refuses, writes as Unpack does, nothing beyond the
// limits and not much more than twenty times what it has read, and stops without an error
// at whatever is unusual, be it legal or not: the rest can be unpacked later. The archive
// has not been judged at this time, so root must be a directory that nobody else looks into.
func UnpackAhead(ctx context.Context, r io.Reader, root *os.Root, l Limits) *Ahead {
	limits := l.Effective()
	a := &Ahead{tree: newTree(ctx, root, Options{}), files: map[string]early{}}
	count := &counter{r: r}
	run := aheadRun{Ahead: a, in: bufio.NewReaderSize(count, 64<<10), count: count, names: names{limits: limits}}
	for n := 0; n < limits.Entries && run.next() == nil; n++ {
	}
	a.tree.release()
	return a
}

// Len returns the number of files that were unpacked.
func (a *Ahead) Len() int { return len(a.files) }

// counter counts what is read.
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
	written int64         // bytes of complete files
	inflate io.ReadCloser // nil: not needed yet
}

// at returns where in the archive the next byte is.
func (a *aheadRun) at() int64 { return a.count.n - int64(a.in.Buffered()) }

// errUnusual ends the work without anybody hearing of it.
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
	e := Entry{Name: string(name)}
	if err := a.names.add(e.Name); err != nil {
		return err
	}
	packed := int64(le.Uint32(header[18:]))
	switch {
	case stored && (flags&descriptor != 0 && !e.IsDir() || packed == 0xffffffff):
		return errUnusual // nothing tells where it ends
	case e.IsDir():
		return a.directory(e, packed, flags)
	}
	f, err := a.file(e, method, packed)
	if err != nil {
		return err
	}
	if flags&descriptor != 0 {
		if err := a.descriptor(f); err != nil {
			a.tree.root.Remove(e.Name)
			return err
		}
	}
	a.files[e.Name] = f
	return nil
}

func (a *aheadRun) directory(e Entry, packed int64, flags uint16) error {
	if packed != 0 {
		return errUnusual
	}
	if err := a.tree.mkdir(strings.TrimSuffix(e.Name, "/")); err != nil {
		return err
	}
	if flags&descriptor != 0 {
		return a.descriptor(early{})
	}
	return nil
}

// file unpacks one file. One that is not complete is removed.
func (a *aheadRun) file(e Entry, method uint16, packed int64) (early, error) {
	f := early{method: method, offset: a.at()}
	stored := method == zip.Store
	var content io.Reader
	if stored {
		content = io.LimitReader(a.in, packed)
	} else {
		content = a.inflater()
	}
	ours := false
	_, err := a.tree.file(e, func(w io.Writer) (File, error) {
		ours = true
		return File{}, a.copy(w, content, &f)
	})
	f.packed = a.at() - f.offset
	if err == nil && stored && f.size != packed {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && ours {
		a.tree.root.Remove(e.Name)
	}
	return f, err
}

// inflater returns a reader of what is deflated. Since the input can be read byte by byte,
// it takes no byte too many.
func (a *aheadRun) inflater() io.Reader {
	if a.inflate == nil {
		a.inflate = flate.NewReader(a.in)
	} else {
		// Reset has no error without a dictionary.
		_ = a.inflate.(flate.Resetter).Reset(a.in, nil)
	}
	return a.inflate
}

// copy writes content and fills in what is known of it at the end.
func (a *aheadRun) copy(w io.Writer, content io.Reader, f *early) error {
	c := a.tree.copier
	c.sum.Reset()
	for {
		if c.ctx.Err() != nil {
			return fault.Ended(c.ctx)
		}
		n, err := content.Read(c.buf[:])
		if f.size += int64(n); !a.allows(f.size) {
			return errUnusual
		}
		c.sum.Write(c.buf[:n])
		f.crc = crc32.Update(f.crc, crc32.IEEETable, c.buf[:n])
		if _, err := w.Write(c.buf[:n]); err != nil {
			return err
		}
		if err == io.EOF {
			a.written += f.size
			f.sum = [sha256.Size]byte(c.sum.Sum(nil))
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// allows reports whether a file of this size may be written next. Programs and documents
// deflate to a third or a tenth; a bomb, to a thousandth, must be accepted first.
func (a *aheadRun) allows(size int64) bool {
	const free, ratio = 4 << 20, 20
	return size <= a.names.limits.Unpacked-a.written && a.written+size <= free+ratio*a.at()
}

// descriptor skips what follows the content of a file if its size was not known before. It
// has one of four forms, and the values in it are known by now.
func (a *aheadRun) descriptor(f early) error {
	le := binary.LittleEndian
	short := le.AppendUint32(nil, f.crc)
	long := le.AppendUint64(le.AppendUint64(le.AppendUint32(nil, f.crc), uint64(f.packed)), uint64(f.size))
	short = le.AppendUint32(le.AppendUint32(short, uint32(f.packed)), uint32(f.size))
	const signature = "PK\x07\x08"
	for _, form := range [][]byte{append([]byte(signature), long...), append([]byte(signature), short...), long, short} {
		if got, err := a.in.Peek(len(form)); err == nil && string(got) == string(form) {
			_, err := a.in.Discard(len(form))
			return err
		}
	}
	return errUnusual
}
