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
	// The second constant is what archive/zip compares with: a slip there, but what it
	// reads must be what was checked here.
	if d.entries == 0xffff || d.size == 0xffff || d.offset == 0xffffffff {
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
	large := directory{
		entries: le.Uint64(end[32:]),
		size:    int64(le.Uint64(end[40:])),
		offset:  int64(le.Uint64(end[48:])),
	}
	// Some readers take from this record only what does not fit into the other one.
	if d.entries != 0xffff && d.entries != large.entries ||
		d.size != 0xffffffff && d.size != large.size ||
		d.offset != 0xffffffff && d.offset != large.offset {
		return 0, bad("the two end records contradict each other")
	}
	*d = large
	return at64, nil
}

// check walks over the headers of the directory, keeps none of them, and returns where
// the local header of each entry is.
func (d directory) check(r io.ReaderAt, l Limits) (locals []int64, err error) {
	if d.entries > uint64(l.Entries) {
		return nil, tooLarge("%d entries, %d are allowed", d.entries, l.Entries)
	}
	// Extra fields and comments stay in memory too; half a kilobyte for each
	// entry on average is several times what archivers write.
	if d.size/512 > int64(l.Entries) && d.size > 1<<20 {
		return nil, tooLarge("a directory of %d bytes", d.size)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(r, d.offset, d.size), 64<<10)
	var header [headerLen]byte
	for n := uint64(0); ; n++ {
		_, err := io.ReadFull(in, header[:])
		if err == io.EOF && n == d.entries {
			return locals, nil
		}
		if err != nil {
			return nil, damaged(err)
		}
		if string(header[:4]) != headerSig || n == d.entries {
			return nil, bad("the directory does not hold the %d entries that it announces", d.entries)
		}
		at, err := localOffset(header, in, l)
		if err != nil {
			return nil, err
		}
		locals = append(locals, at)
	}
}

// localOffset reads what follows the fixed part of a header and returns where the local
// header is.
func localOffset(header [headerLen]byte, in *bufio.Reader, l Limits) (int64, error) {
	le := binary.LittleEndian
	name, extra, comment := int(le.Uint16(header[28:])), int(le.Uint16(header[30:])), int(le.Uint16(header[32:]))
	if name > l.NameLen {
		return 0, tooLarge("a name of %d bytes, %d are allowed", name, l.NameLen)
	}
	if _, err := in.Discard(name); err != nil {
		return 0, damaged(err)
	}
	at := int64(le.Uint32(header[42:]))
	if at == 0xffffffff {
		fields := make([]byte, extra)
		if _, err := io.ReadFull(in, fields); err != nil {
			return 0, damaged(err)
		}
		var err error
		if at, err = offset64(header, fields); err != nil {
			return 0, err
		}
		extra = 0
	}
	if _, err := in.Discard(extra + comment); err != nil {
		return 0, damaged(err)
	}
	return at, nil
}

// offset64 finds the offset of a local header that lies beyond four gigabytes, -1 if it
// is not there. It comes after the sizes, if these do not fit either.
func offset64(header [headerLen]byte, fields []byte) (int64, error) {
	le, skip := binary.LittleEndian, 0
	for _, at := range []int{20, 24} {
		if le.Uint32(header[at:]) == 0xffffffff {
			skip += 8
		}
	}
	field, err := extraField(fields, zip64Extra)
	if err != nil || len(field) < skip+8 {
		return -1, err
	}
	return int64(le.Uint64(field[skip:])), nil
}

// The extra fields that matter.
const (
	zip64Extra       = 0x0001
	unicodePathExtra = 0x7075
)

// extraField returns the extra field with this tag, or nil. There must not be two of
// them: some readers take the first, others the last, and archive/zip mixes them.
func extraField(fields []byte, tag uint16) (found []byte, err error) {
	le := binary.LittleEndian
	for len(fields) >= 4 {
		size := int(le.Uint16(fields[2:]))
		if 4+size > len(fields) {
			break
		}
		if le.Uint16(fields) == tag {
			if found != nil {
				return nil, bad("two extra fields %#04x in one header", tag)
			}
			found = fields[4 : 4+size]
		}
		fields = fields[4+size:]
	}
	return found, nil
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
