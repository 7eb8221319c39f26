package archive_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// raw is an archive of one stored file without a descriptor, so that both headers have all numbers.
func raw(t testing.TB, extra []byte) []byte {
	t.Helper()
	return pack(t, member{Name: "name", Stored: true, Header: func(h *zip.FileHeader) { h.Extra = extra }})
}

// field is an extra field.
func field(tag int, data string) []byte {
	b := binary.LittleEndian.AppendUint16(nil, uint16(tag))
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(data))), data...)
}

// TestTwoReaders: an archive in which two programs could find different files is refused: some use
// the header before the content, some extra fields, some both.
func TestTwoReaders(t *testing.T) {
	t.Parallel()
	const crc = "\x01\x00\x00\x00\x00" // version 1, and an unused CRC
	plain := raw(t, nil)
	put16(plain[6:], 0) // no descriptor
	put16(plain[headers(plain)[0]+8:], 0)
	if _, _, err := unpack(t, plain, archive.Limits{}); err != nil {
		t.Fatal(err)
	}
	attrs := func(creator byte, mode int) []byte {
		return patch(plain, func(b []byte) {
			h := headers(b)[0]
			b[h+5] = creator
			put32(b[h+38:], mode<<16)
		})
	}
	judged(t, map[string]accepted{
		"local name":             {patch(plain, func(b []byte) { copy(b[30:], "evil") }), false},
		"local name shorter":     {patch(plain, func(b []byte) { put16(b[26:], 3) }), false},
		"local method":           {patch(plain, func(b []byte) { put16(b[8:], 8) }), false},
		"local encryption":       {patch(plain, func(b []byte) { put16(b[6:], 1) }), false},
		"local checksum":         {patch(plain, func(b []byte) { put32(b[14:], 1) }), false},
		"local compressed size":  {patch(plain, func(b []byte) { put32(b[18:], 1) }), false},
		"local size":             {patch(plain, func(b []byte) { put32(b[22:], 1) }), false},
		"local sizes nowhere":    {patch(plain, func(b []byte) { put32(b[18:], -1); put32(b[22:], -1) }), false},
		"local descriptor":       {patch(raw(t, nil), func(b []byte) { put16(b[headers(b)[0]+8:], 0) }), true},
		"local header elsewhere": {patch(plain, func(b []byte) { put32(b[headers(b)[0]+42:], 4) }), false},
		"no local offset":        {patch(plain, func(b []byte) { put32(b[headers(b)[0]+42:], -1) }), false},

		"the same Unicode name": {raw(t, field(0x7075, crc+"name")), true},
		"another Unicode name":  {raw(t, field(0x7075, crc+"evil")), false},
		"Unicode name cut":      {raw(t, field(0x7075, "\x01")), false},
		"two Unicode names":     {raw(t, slices.Concat(field(0x7075, crc+"name"), field(0x7075, crc+"evil"))), false},
		"another extra field":   {raw(t, field(0x7076, crc+"evil")), true},
		"other fields twice":    {raw(t, slices.Concat(field(0x7076, "1"), field(0, ""), field(0x7076, "2"), field(0, ""))), true},

		"link":               {attrs(3, 0o120777), false},
		"link, said FAT":     {attrs(0, 0o120777), false},
		"link, said NTFS":    {attrs(10, 0o120777), false},
		"file, said FAT":     {attrs(0, 0o100755), true},
		"nothing, said NTFS": {attrs(10, 0), true},
	})
}

// TestTwoReadersOfExtras: an extra field may be in one of the two headers only.
func TestTwoReadersOfExtras(t *testing.T) {
	t.Parallel()
	const crc = "\x01\x00\x00\x00\x00" // version 1, and an unused CRC
	content := strings.Repeat("content ", 100)
	plain := settled(pack(t, member{Name: "name", Content: content}))
	h := headers(plain)[0]
	le := binary.LittleEndian
	packed, size := uint64(le.Uint32(plain[h+20:])), uint64(le.Uint32(plain[h+24:]))
	sizes := func(n ...uint64) []byte {
		var data []byte
		for _, n := range n {
			data = le.AppendUint64(data, n)
		}
		return field(1, string(data))
	}
	const here, there = 0, -1
	local := func(p, s int, extra ...[]byte) []byte {
		return patch(before(plain, slices.Concat(extra...)), func(b []byte) {
			put32(b[18:], p|int(packed))
			put32(b[22:], s|int(size))
		})
	}
	central := func(extra ...[]byte) []byte { return inDirectory(plain, slices.Concat(extra...)) }
	stamp := field(0x5455, "\x01\x00\x00\x00\x00")
	judged(t, map[string]accepted{
		"nothing":             {local(here, here), true},
		"time before":         {local(here, here, stamp), true},
		"two times before":    {local(here, here, stamp, stamp), true},
		"two times":           {central(stamp, stamp), true},
		"name before":         {local(here, here, field(0x7075, crc+"name")), true},
		"other name before":   {local(here, here, stamp, field(0x7075, crc+"evil")), false},
		"two names before":    {local(here, here, field(0x7075, crc+"name"), field(0x7075, crc+"name")), false},
		"name":                {central(field(0x7075, crc+"name")), true},
		"two names":           {central(field(0x7075, crc+"name"), field(0x7075, crc+"name")), false},
		"other name":          {central(field(0x7075, crc+"evil")), false},
		"sizes before":        {local(there, there, stamp, sizes(size, packed)), true},
		"size before":         {local(here, there, sizes(size, packed)), true},
		"sizes, not needed":   {local(here, here, sizes(1, 2)), true},
		"sizes the wrong way": {local(there, there, sizes(packed, size)), false},
		"other size before":   {local(there, there, sizes(size+1, packed)), false},
		"other packed size":   {local(there, there, sizes(size, packed+1)), false},
		"other, not needed":   {local(here, there, sizes(size, packed+1)), false},
		"packed size before":  {local(there, here, sizes(packed)), false},
		"one size before":     {local(there, there, sizes(size)), false},
		"two places of sizes": {local(there, there, sizes(size, packed), sizes(size, packed)), false},
		"no sizes before":     {local(there, there), false},
		"cut before":          {local(there, there, sizes(size, packed)[:19]), false},
		"beyond the end":      {patch(plain, func(b []byte) { put16(b[28:], 0xffff) }), false},
	})
}

// TestTwoOffsets: two offsets of the header before the content are refused.
func TestTwoOffsets(t *testing.T) {
	t.Parallel()
	data := settled(pack(t, member{Name: "evil", Stored: true}, member{Name: "name", Stored: true}))
	hs := headers(data)
	offset := func(at uint64) []byte { return field(1, string(binary.LittleEndian.AppendUint64(nil, at))) }
	first, second := uint64(0), uint64(binary.LittleEndian.Uint32(data[hs[1]+42:]))
	build := func(extra ...[]byte) []byte {
		one := slices.Concat(data[:hs[0]], data[hs[1]:]) // the directory lists only the second file
		end := endOf(one)
		put16(end[8:], 1)
		put16(end[10:], 1)
		put32(end[12:], len(one)-len(end)-hs[0])
		put32(one[hs[0]+42:], -1)
		one[0] = 'X' // the first file becomes padding
		return inDirectory(one, slices.Concat(extra...))
	}
	if _, _, err := unpack(t, build(offset(second)), archive.Limits{}); err != nil {
		t.Error(err)
	}
	for _, extra := range [][][]byte{
		{offset(first)}, {offset(first), offset(second)}, {offset(second), offset(first)}, {offset(second), offset(second)},
	} {
		refused(t, build(extra...), archive.Limits{}, failure.ErrArchive)
	}
}

// TestEndRecordsContradict: the two end records of a large archive must agree unless one leaves a
// number out.
func TestEndRecordsContradict(t *testing.T) {
	t.Parallel()
	data := pack(t, files("a", "b")...)
	end := endOf(data)
	le := binary.LittleEndian
	first, all := headers(data)[1]-headers(data)[0], int(le.Uint32(end[12:]))
	at := int(le.Uint32(end[16:]))
	for name, tt := range map[string]struct {
		entries, size, offset int
		disks                 byte
		ok                    bool
	}{
		"nothing":     {0xffff, -1, -1, 1, true},
		"the same":    {0xffff, all, at, 1, true},
		"same number": {2, all, -1, 1, true},
		"number":      {1, -1, -1, 1, false},
		"size":        {0xffff, first, -1, 1, false},
		"offset":      {0xffff, -1, at + first, 1, false},
		"a directory": {0xffff, first, at, 1, false},
		"no file":     {2, all, at, 0, false}, // only some readers ignore the other record
		"two files":   {2, all, at, 2, false},
	} {
		end64, locator := records64(2, uint64(all), uint64(at), uint64(at+all))
		last := bytes.Clone(end)
		locator[16] = tt.disks
		put16(last[8:], tt.entries)
		put16(last[10:], tt.entries)
		put32(last[12:], tt.size)
		put32(last[16:], tt.offset)
		whole := slices.Concat(data[:at+all], end64, locator, last)
		if !tt.ok {
			refused(t, whole, archive.Limits{}, failure.ErrArchive)
		} else if _, err := open(whole, archive.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// far is a large archive. Between its beginning and its end are zeros, the content of a file.
type far struct {
	first []byte
	zeros int64
	last  []byte
}

var errZeros = errors.New("the zeros are read")

func (f far) ReadAt(p []byte, off int64) (int, error) {
	behind := off - int64(len(f.first)) - f.zeros
	switch {
	case behind >= 0:
		return bytes.NewReader(f.last).ReadAt(p, behind)
	case off < int64(len(f.first)):
		return bytes.NewReader(f.first).ReadAt(p, off)
	}
	if -behind >= int64(len(p)) {
		return 0, errZeros
	}
	clear(p[:-behind])
	n, err := bytes.NewReader(f.last).ReadAt(p[-behind:], 0)
	return n + int(-behind), err
}

// TestFarContent: content beyond 4 GiB is found and compared with its header.
func TestFarContent(t *testing.T) {
	t.Parallel()
	const zeros, crc = 5 << 30, 0x71f62476 // of "far"
	le := binary.LittleEndian
	large := func(n ...int64) []byte {
		var b []byte
		for _, n := range n {
			b = le.AppendUint64(b, uint64(n))
		}
		return field(1, string(b))
	}
	local := func(name string, crc, size int, extra []byte) []byte {
		b := make([]byte, 30)
		copy(b, "PK\x03\x04")
		put32(b[14:], crc)
		put32(b[18:], size)
		put32(b[22:], size)
		put16(b[26:], len(name))
		put16(b[28:], len(extra))
		return slices.Concat(b, []byte(name), extra)
	}
	central := func(name string, crc, size, at int, extra []byte) []byte {
		b := make([]byte, 46)
		copy(b, "PK\x01\x02")
		b[5] = 3
		put32(b[16:], crc)
		put32(b[20:], size)
		put32(b[24:], size)
		put16(b[28:], len(name))
		put16(b[30:], len(extra))
		le.PutUint32(b[38:], 0o100644<<16)
		put32(b[42:], at)
		return slices.Concat(b, []byte(name), extra)
	}
	build := func(name string, shift int64) (io.ReaderAt, int64) {
		f := far{first: local("zeros", 0, -1, large(zeros, zeros)), zeros: zeros}
		at := int64(len(f.first)) + zeros
		f.last = append(local(name, crc, 3, nil), "far"...)
		dir := at + int64(len(f.last))
		f.last = append(f.last, central("name", crc, 3, -1, large(at+shift))...)
		f.last = append(f.last, central("zeros", 0, -1, 0, large(zeros, zeros))...)
		end := at + int64(len(f.last))
		end64, locator := records64(2, uint64(end-dir), uint64(dir), uint64(end))
		last := make([]byte, 22)
		copy(last, "PK\x05\x06"+strings.Repeat("\xff", 16))
		put32(last[4:], 0)
		f.last = slices.Concat(f.last, end64, locator, last)
		return f, at + int64(len(f.last))
	}
	r, size := build("name", 0)
	z := must.Get(archive.OpenZip(t.Context(), r, size, archive.Options{}))(t)
	dir := t.TempDir()
	root := openRoot(t, dir)
	if _, err := z.Unpack(t.Context(), root); !errors.Is(err, errZeros) || tree(t, dir)["name"] != "far" {
		t.Errorf("Unpack: %v, %v", err, tree(t, dir))
	}
	for name, shift := range map[string]int64{"evil": 0, "name": 1} {
		r, size := build(name, shift)
		if _, err := archive.OpenZip(t.Context(), r, size, archive.Options{}); !errors.Is(err, failure.ErrArchive) {
			t.Errorf("%s, %d bytes farther: %v, want ErrArchive", name, shift, err)
		}
	}
}
