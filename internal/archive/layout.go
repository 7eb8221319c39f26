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
	sigLen   = 4

	encrypted  = 1 << 0 // flags
	descriptor = 1 << 3
)

// checkLayout checks that each byte of the archive has one meaning for all readers.
//
// No byte is content twice: otherwise a few kilobytes could stand for any amount of content. The
// data before and after each content agrees with the directory. The bytes between entries and the
// comment have no record, which readers that go from header to header, or that look for another end
// of the archive, would find. Padding between entries is allowed.
func checkLayout(r io.ReaderAt, size int64, dir directory, members []*member) error {
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
		end, err := m.locate(r, dir.offset)
		if err != nil {
			return err
		}
		at, last = end, m.Name
	}
	if err := checkGap(r, at, dir.offset); err != nil {
		return err
	}
	return checkGap(r, dir.comment, size)
}

// checkGap looks for records in bytes that belong to no entry.
func checkGap(r io.ReaderAt, from, to int64) error {
	var buf []byte
	for to-from >= sigLen {
		if buf == nil {
			buf = make([]byte, min(64<<10, to-from))
		}
		b := buf[:min(int64(len(buf)), to-from)]
		if err := readAt(r, b, from); err != nil {
			return err
		}
		if hasRecord(b) {
			return bad("the archive has an entry or a directory that its directory does not list")
		}
		from += int64(len(b) - sigLen + 1)
	}
	return nil
}

// hasRecord reports whether b has the signature of an entry, a directory or an end.
func hasRecord(b []byte) bool {
	for {
		i := bytes.Index(b, []byte("PK"))
		if i < 0 || len(b)-i < sigLen {
			return false
		}
		switch string(b[i : i+sigLen]) {
		case localSig, headerSig, endSig, end64Sig, locatorSig:
			return true
		}
		b = b[i+1:]
	}
}

// locate checks the data before and after the content of m, which must end before limit. It returns
// the offset of the end of m.
func (m *member) locate(r io.ReaderAt, limit int64) (end int64, err error) {
	flags, err := m.checkLocalHeader(r)
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
		return 0, bad("entry %.100q: another size or checksum after the content", m.Name)
	}
	return end + int64(n), nil
}

// checkLocalHeader compares the header before the content with m, sets m.start, and returns the flags of the
// header. Some readers use this header, others the directory.
func (m *member) checkLocalHeader(r io.ReaderAt) (flags uint16, err error) {
	name := cmp.Or(m.raw, m.Name)
	header := make([]byte, localLen+len(name))
	if err := readAt(r, header, m.header); err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	flags = le.Uint16(header[6:])
	switch {
	case string(header[:4]) != localSig:
		return 0, bad("entry %.100q: no header before its content", m.Name)
	case int(le.Uint16(header[26:])) != len(name) || string(header[localLen:]) != name:
		return 0, bad("entry %.100q has another name before its content", name)
	case le.Uint16(header[8:]) != m.method || flags&encrypted != m.flags&encrypted:
		return 0, bad("entry %.100q has two compression methods or flags", m.Name)
	}
	extra := make([]byte, le.Uint16(header[28:]))
	if err := readAt(r, extra, m.header+int64(len(header))); err != nil {
		return 0, err
	}
	large, err := checkExtra(extra, name)
	if err != nil {
		return 0, err
	}
	// With a descriptor, sizes and checksum are after the content.
	if flags&descriptor == 0 && (le.Uint32(header[14:]) != m.crc || !m.hasSizes(header, large)) {
		return 0, bad("entry %.100q has two sizes or checksums", m.Name)
	}
	m.start = m.header + int64(len(header)+len(extra))
	return flags, nil
}

// hasSizes reports whether the header before the content, with this zip64 field, has the sizes of
// m.
func (m *member) hasSizes(header, field []byte) bool {
	le := binary.LittleEndian
	packed, size := int64(le.Uint32(header[18:])), int64(le.Uint32(header[22:]))
	if field == nil || packed != elsewhere && size != elsewhere {
		// When archive/zip copies large entries, it omits the field.
		return packed == min(m.packed, elsewhere) && size == min(m.Size, elsewhere)
	}
	// The specification demands both sizes in the field. Some readers use both, others only
	// those that the header lacks. All must get the same sizes.
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

// descriptor returns the length of the descriptor of m at the beginning of b, or 0. There are four
// forms: with or without a signature, with 32-bit or 64-bit sizes.
func (m *member) descriptor(b []byte) int {
	const signature = "PK\x07\x08"
	if rest, ok := bytes.CutPrefix(b, []byte(signature)); ok {
		if n := m.plainDescriptor(rest); n > 0 {
			return len(signature) + n
		}
	}
	return m.plainDescriptor(b)
}

// plainDescriptor is descriptor for the forms without a signature.
func (m *member) plainDescriptor(b []byte) int {
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
