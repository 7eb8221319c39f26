package archive_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
)

// insert inserts more at an offset before the directory and corrects all offsets.
func insert(data []byte, at int, more []byte) []byte {
	hs := headers(data)
	data = slices.Insert(bytes.Clone(data), at, more...)
	for _, h := range hs {
		offset := data[h+len(more)+42:]
		if n := int(binary.LittleEndian.Uint32(offset)); n >= at {
			put32(offset, n+len(more))
		}
	}
	put32(endOf(data)[16:], hs[0]+len(more))
	return data
}

// commented appends a comment to the archive.
func commented(data, comment []byte) []byte {
	data = append(bytes.Clone(data), comment...)
	put16(data[len(data)-len(comment)-2:], len(comment))
	return data
}

// TestHiddenEntries: an entry or a directory that the directory does not list is refused wherever
// another reader could find it. Padding is accepted.
func TestHiddenEntries(t *testing.T) {
	t.Parallel()
	data := pack(t, files("a", "b")...)
	hs := headers(data)
	second := int(binary.LittleEndian.Uint32(data[hs[1]+42:]))
	evil := pack(t, member{name: "evil", content: "hidden"})
	evil = evil[:headers(evil)[0]]
	for _, place := range []struct {
		name string
		with func(more []byte) []byte
	}{
		{"first", func(more []byte) []byte { return insert(data, 0, more) }},
		{"between", func(more []byte) []byte { return insert(data, second, more) }},
		{"before the directory", func(more []byte) []byte { return insert(data, hs[0], more) }},
		{"comment", func(more []byte) []byte { return commented(data, more) }},
	} {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			zeros := func(n int) []byte { return make([]byte, n) }
			for what, more := range map[string][]byte{
				"zeros": zeros(40), "many zeros": zeros(60_000), "text": []byte("#!/bin/sh\n"), "half a signature": []byte("PK\x03"),
			} {
				if _, list, err := unpack(t, place.with(more), archive.Limits{}); err != nil || len(list) != 2 {
					t.Errorf("%s: %d files, %v, want 2", what, len(list), err)
				}
			}
			for what, more := range map[string][]byte{
				"an entry": evil, "one after zeros": append(zeros(100), evil...), "a signature": []byte("PK\x03\x04"),
				"a directory": []byte("PPK\x01\x02"), "an end": []byte("PKPK\x05\x06"), "a locator": []byte("PK\x06\x07"),
				"a large end": []byte("PK\x06\x06"), "an archive": data,
			} {
				refused(t, place.with(more), archive.Limits{}, fault.ErrArchive)
				// UnpackAhead does not change that.
				_, early, list, err := ahead(t, place.with(more), archive.Options{})
				if err == nil {
					t.Errorf("%s: %d files after %d early, want an error", what, len(list), early)
				}
			}
		})
	}
	// The search reads pieces, which overlap.
	for n := 65_530; n < 65_540; n++ {
		refused(t, insert(data, second, append(make([]byte, n), evil...)), archive.Limits{}, fault.ErrArchive)
	}
}

// TestAfterTheEnd: only the comment may follow the end record. With one byte more, Java looks for
// another end record.
func TestAfterTheEnd(t *testing.T) {
	t.Parallel()
	data, comment := pack(t, files("a", "b")...), bytes.Repeat([]byte("c"), 1<<16-1)
	for _, n := range []int{0, 1, len(comment)} {
		good := commented(data, comment[:n])
		if _, err := open(good, archive.Options{}); err != nil {
			t.Errorf("comment of %d bytes: %v", n, err)
		}
		for _, more := range []string{"\x00", "PK", "\r\n", string(make([]byte, 1000))} {
			refused(t, append(bytes.Clone(good), more...), archive.Limits{}, fault.ErrArchive)
		}
		if n > 0 {
			refused(t, good[:len(good)-1], archive.Limits{}, fault.ErrArchive)
		}
	}
}

// TestCoveredBytes: bytes of an entry may look like a header.
func TestCoveredBytes(t *testing.T) {
	t.Parallel()
	inner := pack(t, files("inner")...)
	data := pack(t,
		member{name: "archive.zip", content: string(inner), stored: true},
		member{name: "link", content: "PK\x03\x04" + strings.Repeat("x", 40), mode: 0o777 | fs.ModeSymlink, stored: true},
		member{name: "d/"}, member{name: "last"})
	z, err := archive.OpenZip(t.Context(), bytes.NewReader(data), int64(len(data)), archive.Options{Omit: func(_ string, link bool) bool { return link }})
	must(t, err)
	if list, err := z.Hash(t.Context()); err != nil || len(list) != 3 {
		t.Errorf("Hash = %v, %v; want 3 entries without the link", list, err)
	}
}

// TestAfterTheContent: a descriptor must be complete and agree with the directory.
func TestAfterTheContent(t *testing.T) {
	t.Parallel()
	data := pack(t, member{name: "a", content: strings.Repeat("text ", 20)})
	h := headers(data)[0]
	packed := int(binary.LittleEndian.Uint32(data[h+20:]))
	after := bytes.Index(data, []byte("PK\x07\x08"))
	le := binary.LittleEndian
	crc, size := le.Uint32(data[h+16:]), uint64(100)
	short := func(sig string) []byte {
		return le.AppendUint32(le.AppendUint32(le.AppendUint32([]byte(sig), crc), uint32(packed)), uint32(size))
	}
	long := func(sig string) []byte {
		return le.AppendUint64(le.AppendUint64(le.AppendUint32([]byte(sig), crc), uint64(packed)), size)
	}
	with := func(descriptor []byte) []byte {
		b := slices.Replace(bytes.Clone(data), after, after+16, descriptor...)
		put32(endOf(b)[16:], after+len(descriptor))
		return b
	}
	judged(t, map[string]accepted{
		"short":           {with(short("PK\x07\x08")), true},
		"long":            {with(long("PK\x07\x08")), true},
		"short, unsigned": {with(short("")), true},
		"long, unsigned":  {with(long("")), true},
		"none":            {with(nil), false},
		"other checksum":  {patch(data, func(b []byte) { b[after+4] ^= 1 }), false},
		"other packed":    {patch(data, func(b []byte) { b[after+8] ^= 1 }), false},
		"other size":      {patch(data, func(b []byte) { b[after+12] ^= 1 }), false},
	})
	// The content ends before its packed size does: readers that continue there find more.
	more := patch(insert(data, after, []byte("x")), func(b []byte) {
		put32(b[headers(b)[0]+20:], packed+1)
		put32(b[after+1+8:], packed+1)
	})
	if _, list, err := unpack(t, more, archive.Limits{}); !errors.Is(err, fault.ErrArchive) {
		t.Errorf("more content: %v, %v, want ErrArchive", list, err)
	}
}
