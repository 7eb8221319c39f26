package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/inflate"
)

// directory is the position of the central directory of a zip archive.
type directory struct {
	offset  int64
	size    int64
	entries uint64
	comment int64 // offset of the comment, which ends the archive
}

const (
	endSig     = "PK\x05\x06"
	end64Sig   = "PK\x06\x06"
	locatorSig = "PK\x06\x07"

	endLen     = 22
	end64Len   = 56
	locatorLen = 20

	// elsewhere marks a number that needs 64 bits. The number is in another record or in an
	// extra field.
	elsewhere = 0xffffffff
)

// findDirectory reads the record at the end of the archive. The directory must lie directly before
// that record and at the stated offset from the first byte of r, and the comment must end with the
// archive. So an archive behind or before other data, and one that two readers could read in two
// ways, is refused.
func findDirectory(r io.ReaderAt, size int64) (directory, error) {
	tail := make([]byte, min(max(size, 0), endLen+1<<16))
	if err := readAt(r, tail, size-int64(len(tail))); err != nil {
		return directory{}, err
	}
	i := lastEnd(tail)
	if i < 0 {
		return directory{}, bad("not a zip archive, or one with data after its end")
	}
	le, end := binary.LittleEndian, tail[i:]
	at := size - int64(len(end))
	d := directory{
		entries: uint64(le.Uint16(end[10:])),
		size:    int64(le.Uint32(end[12:])),
		offset:  int64(le.Uint32(end[16:])),
		comment: at + endLen,
	}
	// Some readers use the other record even if this one is complete.
	at, err := d.read64(r, at)
	if err != nil {
		return directory{}, err
	}
	if d.size < 0 || d.offset < 0 || d.size > at || d.offset != at-d.size {
		return directory{}, bad("the directory is not where the end record says")
	}
	return d, nil
}

// lastEnd returns the index of the last end record in tail, or -1 unless its comment ends with tail.
func lastEnd(tail []byte) int {
	i := bytes.LastIndex(tail[:max(len(tail)-endLen+sigLen, 0)], []byte(endSig))
	if i >= 0 && i+endLen+int(binary.LittleEndian.Uint16(tail[i+20:])) != len(tail) {
		return -1
	}
	return i
}

// read64 reads the record that large archives have before the end record, if it exists, and returns
// where the directory must end.
func (d *directory) read64(r io.ReaderAt, at int64) (int64, error) {
	if at < locatorLen {
		return at, nil
	}
	le, locator := binary.LittleEndian, make([]byte, locatorLen)
	if err := readAt(r, locator, at-locatorLen); err != nil {
		return 0, err
	}
	if string(locator[:4]) != locatorSig {
		return at, nil
	}
	if le.Uint32(locator[4:]) != 0 || le.Uint32(locator[16:]) != 1 {
		return 0, bad("it consists of several files") // only some readers ignore the locator
	}
	// Some readers do not use the stated offset, but the record directly before the locator.
	at64 := int64(le.Uint64(locator[8:]))
	if at64 != at-locatorLen-end64Len || at64 < 0 {
		return 0, bad("the zip64 end record is not where its locator says")
	}
	end := make([]byte, end64Len)
	if err := readAt(r, end, at64); err != nil {
		return 0, err
	}
	if string(end[:4]) != end64Sig {
		return 0, bad("the zip64 end record is missing")
	}
	large := directory{
		entries: le.Uint64(end[32:]),
		size:    int64(le.Uint64(end[40:])),
		offset:  int64(le.Uint64(end[48:])),
		comment: d.comment,
	}
	// Some readers use this record only for numbers that the other record lacks.
	if d.entries != 0xffff && d.entries != large.entries ||
		d.size != elsewhere && d.size != large.size ||
		d.offset != elsewhere && d.offset != large.offset {
		return 0, bad("the two end records contradict each other")
	}
	*d = large
	return at64, nil
}

// readAt fills b from r at off.
func readAt(r io.ReaderAt, b []byte, off int64) error {
	if n, err := r.ReadAt(b, off); n < len(b) {
		return damaged(err)
	}
	return nil
}

// damaged converts errors about invalid data to fault.ErrArchive. It returns other errors, such as
// those of the disk, unchanged.
func damaged(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fault.ErrArchive), errors.Is(err, fault.ErrTooLarge):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return bad("unexpected end of the archive")
	case errors.Is(err, inflate.ErrCorrupt):
		return bad("%w", err)
	}
	return err
}
