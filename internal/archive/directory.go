package archive

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"github.com/tofureg/tofureg/internal/fault"
)

// directory is where a zip archive says that its central directory is. The
// archive/zip package believes a count only modulo 65,536 and reads headers of any
// number and length into memory, so they are counted here first.
type directory struct {
	offset  int64
	size    int64
	entries uint64
}

const (
	headerSig  = "PK\x01\x02"
	endSig     = "PK\x05\x06"
	end64Sig   = "PK\x06\x06"
	locatorSig = "PK\x06\x07"

	headerLen  = 46
	endLen     = 22
	end64Len   = 56
	locatorLen = 20
)

// findDirectory reads the record at the end of the archive. The directory must lie
// right before that record and where the record says, counted from the first byte
// of r: an archive behind other data, or one that two readers could understand in
// two ways, is not a package.
func findDirectory(r io.ReaderAt, size int64) (directory, error) {
	tail := make([]byte, min(max(size, 0), endLen+1<<16))
	if err := readAt(r, tail, size-int64(len(tail))); err != nil {
		return directory{}, err
	}
	i := lastEnd(tail)
	if i < 0 {
		return directory{}, bad("not a zip archive")
	}
	le, end := binary.LittleEndian, tail[i:]
	at := size - int64(len(end))
	d := directory{
		entries: uint64(le.Uint16(end[10:])),
		size:    int64(le.Uint32(end[12:])),
		offset:  int64(le.Uint32(end[16:])),
	}
	// The second constant is what archive/zip compares with.
	if d.entries == 0xffff || d.size == 0xffff || d.size == 0xffffffff || d.offset == 0xffffffff {
		var err error
		if at, err = d.read64(r, at); err != nil {
			return directory{}, err
		}
	}
	if d.size < 0 || d.offset < 0 || d.size > at || d.offset != at-d.size {
		return directory{}, bad("the directory is not where the end of the zip says")
	}
	return d, nil
}

// lastEnd returns the index of the last end record in tail, or -1.
func lastEnd(tail []byte) int {
	for i := len(tail) - endLen; i >= 0; i-- {
		if string(tail[i:i+4]) == endSig {
			comment := int(binary.LittleEndian.Uint16(tail[i+20:]))
			if i+endLen+comment > len(tail) {
				return -1
			}
			return i
		}
	}
	return -1
}

// read64 reads the record that large archives have before the end record, if it is
// there, and returns where the directory must end.
func (d *directory) read64(r io.ReaderAt, at int64) (int64, error) {
	if at < locatorLen {
		return at, nil
	}
	le, locator := binary.LittleEndian, make([]byte, locatorLen)
	if err := readAt(r, locator, at-locatorLen); err != nil {
		return 0, err
	}
	if string(locator[:4]) != locatorSig || le.Uint32(locator[4:]) != 0 || le.Uint32(locator[16:]) != 1 {
		return at, nil
	}
	at64 := int64(le.Uint64(locator[8:]))
	if at64 < 0 || at64 > at-locatorLen-end64Len {
		return 0, bad("the zip64 end record is not where its locator says")
	}
	end := make([]byte, end64Len)
	if err := readAt(r, end, at64); err != nil {
		return 0, err
	}
	if string(end[:4]) != end64Sig {
		return 0, bad("the zip64 end record is missing")
	}
	d.entries = le.Uint64(end[32:])
	d.size = int64(le.Uint64(end[40:]))
	d.offset = int64(le.Uint64(end[48:]))
	return at64, nil
}

// check walks over the headers of the directory and keeps none of them.
func (d directory) check(r io.ReaderAt, l Limits) error {
	if d.entries > uint64(l.Entries) {
		return tooLarge("%d entries, %d are allowed", d.entries, l.Entries)
	}
	// Extra fields and comments stay in memory too; half a kilobyte for each
	// entry on average is several times what archivers write.
	if d.size/512 > int64(l.Entries) && d.size > 1<<20 {
		return tooLarge("a directory of %d bytes", d.size)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(r, d.offset, d.size), 64<<10)
	var header [headerLen]byte
	for n := uint64(0); ; n++ {
		_, err := io.ReadFull(in, header[:])
		if err == io.EOF && n == d.entries {
			return nil
		}
		if err != nil {
			return damaged(err)
		}
		if string(header[:4]) != headerSig || n == d.entries {
			return bad("the directory does not hold the %d entries that it announces", d.entries)
		}
		le := binary.LittleEndian
		name := int(le.Uint16(header[28:]))
		if name > l.NameLen {
			return tooLarge("a name of %d bytes, %d are allowed", name, l.NameLen)
		}
		rest := name + int(le.Uint16(header[30:])) + int(le.Uint16(header[32:]))
		if _, err := in.Discard(rest); err != nil {
			return damaged(err)
		}
	}
}

// readAt fills b from r at off.
func readAt(r io.ReaderAt, b []byte, off int64) error {
	if n, err := r.ReadAt(b, off); n < len(b) {
		return damaged(err)
	}
	return nil
}

// damaged turns the errors by which a reader of zip files says that the bytes make
// no sense into fault.ErrArchive, and leaves those of the disk alone.
func damaged(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fault.ErrArchive), errors.Is(err, fault.ErrTooLarge):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return bad("it is cut short")
	case errors.Is(err, zip.ErrFormat), errors.Is(err, zip.ErrChecksum), isCorrupt(err):
		return bad("%w", err)
	}
	return err
}
