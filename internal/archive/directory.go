package archive

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"strings"
)

// directory is the position of the central directory of a zip archive.
type directory struct {
	offset  int64
	size    int64
	entries uint64
	comment int64 // offset of the comment, which ends the archive
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
	le := binary.LittleEndian
	i := bytes.LastIndex(tail[:max(len(tail)-endLen+sigLen, 0)], []byte(endSig))
	if i < 0 || i+endLen+int(le.Uint16(tail[i+20:])) != len(tail) {
		return directory{}, bad("not a zip archive, or one with data after its end")
	}
	end := tail[i:]
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

// read reads all headers of the directory.
func (d directory) read(r io.ReaderAt, l Limits, o Options) ([]*member, error) {
	if d.entries > uint64(l.Entries) {
		return nil, tooLarge("%d entries, %d are allowed", d.entries, l.Entries)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(r, d.offset, d.size), 64<<10)
	set := names{limits: l, native: o.Native, lenient: o.Lenient, expected: int(min(int64(d.entries), d.size/headerLen))}
	var list []*member
	for {
		if _, err := in.Peek(1); err == io.EOF && uint64(len(list)) == d.entries {
			return list, nil
		}
		h, err := readHeader(in)
		if err != nil {
			return nil, damaged(err)
		}
		if h == nil || uint64(len(list)) == d.entries {
			return nil, bad("the directory does not have the announced %d entries", d.entries)
		}
		list = append(list, h)
		if o.Lenient {
			if h.raw = h.Name; h.raw == "/" || h.raw == "./" {
				h.Name, h.ignored = "/", true
				continue
			}
			h.Name = strings.TrimPrefix(h.raw, "./")
		}
		at, err := set.add(h.Name)
		if err != nil {
			return nil, err
		}
		h.ignored = at.entries > 1
	}
}

// readHeader reads one header. It returns nil if the signature differs.
func readHeader(in *bufio.Reader) (*member, error) {
	var fixed [headerLen]byte
	if _, err := io.ReadFull(in, fixed[:]); err != nil {
		return nil, err
	}
	if string(fixed[:4]) != headerSig {
		return nil, nil
	}
	le := binary.LittleEndian
	nameLen := int(le.Uint16(fixed[28:]))
	rest := make([]byte, nameLen+int(le.Uint16(fixed[30:])))
	if _, err := io.ReadFull(in, rest); err != nil {
		return nil, err
	}
	if _, err := in.Discard(int(le.Uint16(fixed[32:]))); err != nil {
		return nil, err
	}
	m := &member{
		Entry:      Entry{Name: string(rest[:nameLen]), Size: int64(le.Uint32(fixed[24:]))},
		attributes: le.Uint32(fixed[38:]),
		flags:      le.Uint16(fixed[8:]),
		method:     le.Uint16(fixed[10:]),
		crc:        le.Uint32(fixed[16:]),
		packed:     int64(le.Uint32(fixed[20:])),
		header:     int64(le.Uint32(fixed[42:])),
	}
	of := zip.FileHeader{Name: m.Name, CreatorVersion: le.Uint16(fixed[4:]), ExternalAttrs: m.attributes}
	m.mode = of.Mode()
	m.Exec = m.mode&0o111 != 0
	return m, m.extend(rest[nameLen:])
}

// extend sets the numbers that need 64 bits from the extra fields.
func (m *member) extend(fields []byte) error {
	large, err := checkExtra(fields, m.Name)
	if err != nil {
		return err
	}
	for _, n := range []*int64{&m.Size, &m.packed, &m.header} {
		if *n != elsewhere {
			continue
		}
		if len(large) < 8 || binary.LittleEndian.Uint64(large) > math.MaxInt64 {
			return bad("entry %.100q: size or offset is missing", m.Name)
		}
		*n = int64(binary.LittleEndian.Uint64(large))
		large = large[8:]
	}
	return nil
}

// The extra fields that matter.
const (
	zip64Extra       = 0x0001
	unicodePathExtra = 0x7075
)

// checkExtra checks the extra fields of a header of the entry name. It returns the zip64 field, or
// nil. It refuses duplicates: some readers use the first field, others the last, and archive/zip mixes
// them.
func checkExtra(fields []byte, name string) (large []byte, err error) {
	le := binary.LittleEndian
	var path []byte // the name after a CRC; some readers use it
	for len(fields) >= 4 && 4+int(le.Uint16(fields[2:])) <= len(fields) {
		tag, end := le.Uint16(fields), 4+int(le.Uint16(fields[2:]))
		switch {
		case tag == zip64Extra && large == nil:
			large = fields[4:end]
		case tag == unicodePathExtra && path == nil:
			path = fields[4:end]
		case tag == zip64Extra, tag == unicodePathExtra:
			return nil, bad("two extra fields %#04x in one header", tag)
		}
		fields = fields[end:]
	}
	if path != nil && (len(path) < 5 || string(path[5:]) != name) {
		return nil, bad("entry %.100q has another name in an extra field", name)
	}
	return large, nil
}
