package archive

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"slices"
)

const (
	localSig = "PK\x03\x04"
	localLen = 30

	encrypted  = 1 << 0 // flags
	descriptor = 1 << 3
)

// checkPlaces makes sure that each byte of the archive has one meaning, whoever reads it.
// No byte is content twice: otherwise a few kilobytes could stand for any number of bytes
// within the limits, and what one entry holds would depend on the reader. What stands
// before and after each content agrees with the directory. And in the bytes that belong to
// no entry there is no entry that the directory does not list: the CLI would pass over it,
// while others, who go from header to header, would find it. Padding is allowed.
func checkPlaces(r io.ReaderAt, size int64, dir directory, members []*member) error {
	sorted := slices.SortedFunc(slices.Values(members), func(a, b *member) int { return cmp.Compare(a.header, b.header) })
	at, last := int64(0), ""
	for _, m := range sorted {
		if m.header < at {
			return bad("entries %.100q and %.100q share bytes", last, m.Name)
		}
		if m.header > dir.offset {
			return bad("entry %.100q reaches beyond the content", m.Name)
		}
		if err := checkGap(r, at, m.header); err != nil {
			return err
		}
		end, err := m.place(r, dir.offset)
		if err != nil {
			return err
		}
		at, last = end, m.Name
	}
	if err := checkGap(r, at, dir.offset); err != nil {
		return err
	}
	return checkGap(r, dir.offset+dir.size, size)
}

// checkGap looks for the header of an entry in bytes that belong to none.
func checkGap(r io.ReaderAt, from, to int64) error {
	var buf []byte
	for to-from >= int64(len(localSig)) {
		if buf == nil {
			buf = make([]byte, min(64<<10, to-from))
		}
		b := buf[:min(int64(len(buf)), to-from)]
		if err := readAt(r, b, from); err != nil {
			return err
		}
		if bytes.Contains(b, []byte(localSig)) {
			return bad("it holds an entry that its directory does not list")
		}
		from += int64(len(b) - len(localSig) + 1)
	}
	return nil
}

// place reads what stands before and after the content of m, which all lies before limit.
// It returns where the bytes of m end.
func (m *member) place(r io.ReaderAt, limit int64) (end int64, err error) {
	flags, err := m.before(r)
	switch {
	case err != nil:
		return 0, err
	case m.start > limit || m.packed > limit-m.start:
		return 0, bad("entry %.100q reaches beyond the content", m.Name)
	}
	end = m.start + m.packed
	if (flags|m.flags)&descriptor == 0 {
		return end, nil
	}
	after := make([]byte, min(maxDescriptor, limit-end))
	if err := readAt(r, after, end); err != nil {
		return 0, err
	}
	n := m.descriptor(after)
	if n == 0 && !m.IsDir() {
		return 0, bad("entry %.100q: not its size and checksum after the content", m.Name)
	}
	return end + int64(n), nil
}

// before compares the header before the content with m, notes where the content starts, and
// returns the flags of that header. Some readers go by the one and some by the other.
func (m *member) before(r io.ReaderAt) (flags uint16, err error) {
	header := make([]byte, localLen+len(m.Name))
	if err := readAt(r, header, m.header); err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	flags = le.Uint16(header[6:])
	switch {
	case string(header[:4]) != localSig:
		return 0, bad("entry %.100q: no header before its content", m.Name)
	case int(le.Uint16(header[26:])) != len(m.Name) || string(header[localLen:]) != m.Name:
		return 0, bad("entry %.100q has another name before its content", m.Name)
	case le.Uint16(header[8:]) != m.method || flags&encrypted != m.flags&encrypted:
		return 0, bad("entry %.100q is said to be packed in two ways", m.Name)
	}
	extra := make([]byte, le.Uint16(header[28:]))
	if err := readAt(r, extra, m.header+int64(len(header))); err != nil {
		return 0, err
	}
	large, err := checkExtra(extra, m.Name)
	if err != nil {
		return 0, err
	}
	// With a descriptor, size and checksum follow the content.
	if flags&descriptor == 0 && (le.Uint32(header[14:]) != m.crc || !m.hasSizes(header, large)) {
		return 0, bad("entry %.100q has two sizes or checksums", m.Name)
	}
	m.start = m.header + int64(len(header)+len(extra))
	return flags, nil
}

// hasSizes reports whether the header before the content, with this zip64 field, gives
// the sizes that m has.
func (m *member) hasSizes(header, field []byte) bool {
	le := binary.LittleEndian
	packed, size := int64(le.Uint32(header[18:])), int64(le.Uint32(header[22:]))
	if field == nil || packed != elsewhere && size != elsewhere {
		// When it copies large entries, archive/zip leaves the field out.
		return packed == min(m.packed, elsewhere) && size == min(m.Size, elsewhere)
	}
	// By the book the field has both sizes. Some readers take both, others only those that
	// are not in the header, one after the other: the two must see the same.
	if len(field) < 8 || size != elsewhere {
		return false
	}
	size = int64(le.Uint64(field))
	if len(field) >= 16 {
		second := int64(le.Uint64(field[8:]))
		if packed == elsewhere {
			packed = second
		}
		if packed != second {
			return false
		}
	}
	return packed == m.packed && size == m.Size
}

// maxDescriptor is the length of the longest descriptor.
const maxDescriptor = 24

// descriptor returns the length of the descriptor of m at the beginning of b, 0 if there is
// none. It has one of four forms: with a signature or without, with long sizes or short.
func (m *member) descriptor(b []byte) int {
	const signature = "PK\x07\x08"
	if rest, ok := bytes.CutPrefix(b, []byte(signature)); ok {
		if n := m.unsigned(rest); n > 0 {
			return len(signature) + n
		}
	}
	return m.unsigned(b)
}

// unsigned is descriptor for those without a signature.
func (m *member) unsigned(b []byte) int {
	le := binary.LittleEndian
	switch {
	case len(b) < 12 || le.Uint32(b) != m.crc:
		return 0
	case len(b) >= 20 && le.Uint64(b[4:]) == uint64(m.packed) && le.Uint64(b[12:]) == uint64(m.Size):
		return 20
	case le.Uint32(b[4:]) == uint32(m.packed) && le.Uint32(b[8:]) == uint32(m.Size):
		return 12
	}
	return 0
}
