package archive

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"io"
	"math"
)

const (
	headerSig = "PK\x01\x02"
	headerLen = 46
)

// read reads all headers of the directory.
func (d directory) read(r io.ReaderAt, l Limits, anyCase bool) ([]*member, error) {
	if d.entries > uint64(l.Entries) {
		return nil, tooLarge("%d entries, %d are allowed", d.entries, l.Entries)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(r, d.offset, d.size), 64<<10)
	set := names{limits: l, anyCase: anyCase, expected: int(min(int64(d.entries), d.size/headerLen))}
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
		if err := set.add(h.Name); err != nil {
			return nil, err
		}
		list = append(list, h)
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
// nil.
func checkExtra(fields []byte, name string) ([]byte, error) {
	// Some readers use the name in this field, after a CRC.
	path, err := extraField(fields, unicodePathExtra)
	if err != nil {
		return nil, err
	}
	if path != nil && (len(path) < 5 || string(path[5:]) != name) {
		return nil, bad("entry %.100q has another name in an extra field", name)
	}
	return extraField(fields, zip64Extra)
}

// extraField returns the extra field with this tag, or nil. It refuses duplicates: some readers use
// the first field, others the last, and archive/zip mixes them.
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
