package archive_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestContradictions: archives with contradicting parts are refused.
func TestContradictions(t *testing.T) {
	t.Parallel()
	two := pack(t,
		member{Name: "a", Content: strings.Repeat("first ", 50)},
		member{Name: "b", Content: strings.Repeat("second ", 50)})
	stored := pack(t, member{Name: "a", Content: "0123456789", Stored: true})
	noSum := func(b []byte) {
		for _, h := range headers(b) {
			put32(b[h+16:], 0)
			put32(b[binary.LittleEndian.Uint32(b[h+42:])+14:], 0)
		}
	}
	for name, data := range map[string][]byte{
		"empty file":        {},
		"end record only":   []byte("PK\x05\x06" + strings.Repeat("\x00", 18)),
		"comment cut":       patch(two, func(b []byte) { put16(endOf(b)[20:], 9) }),
		"no zip":            []byte(strings.Repeat("this is text ", 20)),
		"html":              []byte("<html>please log in</html>"),
		"cut in the end":    two[:len(two)-1],
		"cut in the middle": two[:len(two)/2],
		"data before it":    append([]byte("#!/bin/sh\n"), two...),
		"more entries announced": patch(two, func(b []byte) {
			put16(endOf(b)[8:], 3)
			put16(endOf(b)[10:], 3)
		}),
		"fewer entries announced": patch(two, func(b []byte) { put16(endOf(b)[10:], 1) }),
		"directory too long":      patch(two, func(b []byte) { put32(endOf(b)[12:], 4000) }),
		"directory too short":     patch(two, func(b []byte) { put32(endOf(b)[12:], 20) }),
		"directory elsewhere":     patch(two, func(b []byte) { put32(endOf(b)[16:], 5) }),
		"directory beyond":        patch(two, func(b []byte) { put32(endOf(b)[16:], 1<<30) }),
		"zip64 without a locator": patch(two, func(b []byte) { put32(endOf(b)[16:], -1) }),
		"header broken":           patch(two, func(b []byte) { b[headers(b)[1]] = 'X' }),
		"no local header":         patch(two, func(b []byte) { b[0] = 'X' }),
		"name longer than data":   patch(two, func(b []byte) { put16(b[headers(b)[1]+28:], 1000) }),
		"method unknown":          patch(two, func(b []byte) { put16(b[headers(b)[0]+10:], 93) }),
		"wrong checksum":          patch(two, func(b []byte) { b[headers(b)[0]+16] ^= 1 }),
		"no checksum":             patch(settled(two), noSum),
		"no checksum, stored":     patch(settled(stored), noSum),
		"no checksum, descriptor": patch(two, noSum),
		"wrong content":           patch(stored, func(b []byte) { b[bytes.Index(b, []byte("0123"))] = 'X' }),
		"shorter than announced":  patch(two, func(b []byte) { put32(b[headers(b)[0]+24:], 5000) }),
		"longer than announced":   patch(two, func(b []byte) { put32(b[headers(b)[0]+24:], 5) }),
		"stored, larger":          patch(stored, func(b []byte) { put32(b[headers(b)[0]+24:], 11) }),
		"content into directory":  patch(two, func(b []byte) { put32(b[headers(b)[1]+20:], 1000) }),
		"huge content":            patch(two, func(b []byte) { put32(b[headers(b)[1]+20:], -16) }),
		"deflate data broken":     patch(two, func(b []byte) { copy(b[31:], "\xff\xff\xff\xff\xff\xff") }),
		"offset beyond":           patch(two, func(b []byte) { put32(b[headers(b)[1]+42:], 1<<30) }),
		"one header for two":      patch(two, func(b []byte) { put32(b[headers(b)[1]+42:], 0) }),
		"directory with content":  patch(pack(t, member{Name: "d/"}), func(b []byte) { put32(b[headers(b)[0]+24:], 9) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := unpack(t, data, archive.Limits{})
			if !errors.Is(err, failure.ErrArchive) {
				t.Errorf("error %v, want ErrArchive", err)
			}
		})
	}
}

// TestChecksumZero: a CRC-32 of zero is checked like others. Empty content and these four bytes
// have it.
func TestChecksumZero(t *testing.T) {
	t.Parallel()
	const content = "\x9d\x0a\xd9\x6d"
	if sum := crc32.ChecksumIEEE([]byte(content)); sum != 0 {
		t.Fatalf("the checksum is %#x", sum)
	}
	data := pack(t, member{Name: "a", Content: content}, member{Name: "b"}, member{Name: "c", Stored: true}, member{Name: "d/"})
	for _, data := range [][]byte{data, settled(data)} {
		if _, list, err := unpack(t, data, archive.Limits{}); err != nil || len(list) != 4 {
			t.Errorf("%v, %v", list, err)
		}
	}
}

// TestOverlap: an entry inside the content of another one is refused. The densest bombs are made
// so.
func TestOverlap(t *testing.T) {
	t.Parallel()
	inner := pack(t, member{Name: "inner", Content: "small", Stored: true})
	outer := pack(t,
		member{Name: "outer", Content: string(inner), Stored: true},
		member{Name: "inner", Content: "small", Stored: true})
	at := bytes.Index(outer, inner)
	data := patch(outer, func(b []byte) { put32(b[headers(b)[1]+42:], at) })
	refused(t, data, archive.Limits{}, failure.ErrArchive)
}

// TestCountWrapsAround: the end record has the low 16 bits of the number of entries. 65,537 headers
// must not pass for one.
func TestCountWrapsAround(t *testing.T) {
	t.Parallel()
	members := make([]member, 65_537)
	for i := range members {
		members[i] = member{Name: fmt.Sprint(i), Stored: true}
	}
	data := pack(t, members...)
	if _, err := open(data, archive.Options{}); err != nil {
		t.Fatal("the honest zip64 archive:", err)
	}
	refused(t, data, archive.Limits{Entries: 65_536}, failure.ErrTooLarge)
	lying := patch(data, func(b []byte) {
		end := endOf(b)
		dir := bytes.Index(b, []byte("PK\x01\x02"))
		end64 := bytes.LastIndex(b, []byte("PK\x06\x06"))
		put16(end[8:], 1)
		put16(end[10:], 1)
		put32(end[12:], end64-dir)
		put32(end[16:], dir)
	})
	if _, err := zip.NewReader(bytes.NewReader(lying), int64(len(lying))); err != nil {
		t.Logf("the standard library refuses it too: %v", err)
	}
	refused(t, lying, archive.Limits{Entries: 10}, failure.ErrArchive)
	// The same with one header only.
	short := append(bytes.Clone(lying[:bytes.LastIndex(lying, []byte("PK\x06\x06"))]), endOf(lying)...)
	if zr, err := zip.NewReader(bytes.NewReader(short), int64(len(short))); err != nil || len(zr.File) != 65_537 {
		t.Fatalf("the standard library is expected to take it: %v", err)
	}
	refused(t, short, archive.Limits{Entries: 10_000}, failure.ErrArchive)
}

// TestZip64: the records of large archives must not contradict each other.
func TestZip64(t *testing.T) {
	t.Parallel()
	// as64 adds the records of a large archive to data and calls change with them.
	as64 := func(change func(end64, locator []byte)) []byte {
		data := pack(t, files("a", "b")...)
		le, end := binary.LittleEndian, bytes.Clone(endOf(data))
		end64, locator := records64(2, uint64(le.Uint32(end[12:])), uint64(le.Uint32(end[16:])), uint64(len(data)-len(end)))
		put16(end[10:], 0xffff)
		put32(end[16:], -1)
		change(end64, locator)
		return slices.Concat(data[:len(data)-len(end)], end64, locator, end)
	}
	good := as64(func(_, _ []byte) {})
	if _, list, err := unpack(t, good, archive.Limits{}); err != nil || len(list) != 2 {
		t.Fatal("the honest archive:", err)
	}
	le := binary.LittleEndian
	for name, change := range map[string]func(end64, locator []byte){
		"locator elsewhere":    func(_, locator []byte) { le.PutUint64(locator[8:], 3) },
		"locator beyond":       func(_, locator []byte) { le.PutUint64(locator[8:], 1<<40) },
		"locator negative":     func(_, locator []byte) { le.PutUint64(locator[8:], 1<<63) },
		"several disks":        func(_, locator []byte) { le.PutUint32(locator[16:], 2) },
		"other disk":           func(_, locator []byte) { le.PutUint32(locator[4:], 1) },
		"no record":            func(end64, _ []byte) { end64[0] = 'X' },
		"entries":              func(end64, _ []byte) { le.PutUint64(end64[32:], 3) },
		"size negative":        func(end64, _ []byte) { le.PutUint64(end64[40:], 1<<63) },
		"size beyond":          func(end64, _ []byte) { le.PutUint64(end64[40:], 1<<40) },
		"offset negative":      func(end64, _ []byte) { le.PutUint64(end64[48:], 1<<63) },
		"offset and size wrap": func(end64, _ []byte) { le.PutUint64(end64[40:], 1<<62); le.PutUint64(end64[48:], 1<<62) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, as64(change), archive.Limits{}, failure.ErrArchive)
		})
	}
	locator := bytes.LastIndex(good, []byte("PK\x06\x07"))
	second := bytes.Clone(good[locator-56 : locator])
	le.PutUint64(second[32:], 1)
	refused(t, slices.Concat(good[:locator], second, good[locator:]), archive.Limits{}, failure.ErrArchive)
	many := as64(func(end64, _ []byte) { le.PutUint64(end64[32:], 1<<30) })
	refused(t, many, archive.Limits{Entries: -1}, failure.ErrArchive)
	refused(t, many, archive.Limits{}, failure.ErrTooLarge)
}

// TestHidden64: the records of a large archive in a comment, before a complete end record, are refused.
func TestHidden64(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	data := pack(t, files("a", "b")...)
	end := bytes.Clone(endOf(data))
	size, offset := le.Uint32(end[12:]), le.Uint32(end[16:])
	for entries := range uint64(3) {
		end64, locator := records64(entries, uint64(size), uint64(offset), uint64(len(data)-len(end)))
		hidden := append(end64, locator...)
		b := slices.Concat(data[:len(data)-len(end)], hidden, end)
		put16(b[headers(b)[1]+32:], len(hidden)) // the comment of the last entry
		put32(endOf(b)[12:], int(size)+len(hidden))
		refused(t, b, archive.Limits{}, failure.ErrArchive)
	}
}

func FuzzOpenZip(f *testing.F) {
	f.Add(pack(f, files("a", "b/c")...))
	f.Add(pack(f, member{Name: "d/"}, member{Name: "d/stored", Content: "x", Stored: true}))
	f.Add(patch(pack(f, files("a")...), func(b []byte) { put32(endOf(b)[16:], -1) }))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	limits := archive.Limits{Unpacked: 1 << 20, Entries: 100}
	f.Fuzz(func(t *testing.T, data []byte) {
		z, err := open(data, archive.Options{Limits: limits})
		if err != nil {
			known(t, err)
			return
		}
		list, err := z.Hash(t.Context())
		if err != nil {
			known(t, err)
			return
		}
		// The standard library must read the same entries.
		zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil || len(zr.File) != len(list) {
			t.Fatalf("archive/zip: %v", err)
		}
		var total int64
		for i, file := range list {
			if !fs.ValidPath(strings.TrimSuffix(file.Name, "/")) {
				t.Errorf("the name %q is accepted", file.Name)
			}
			total += file.Size
			if zr.File[i].Name != file.Name {
				t.Errorf("entry %d: %q, archive/zip has %q", i, file.Name, zr.File[i].Name)
			}
		}
		if total > limits.Unpacked {
			t.Errorf("%d bytes of content, %d are allowed", total, limits.Unpacked)
		}
	})
}

func known(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, failure.ErrArchive) && !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("error of no kind: %v", err)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("a/b", "A/c")
	f.Add("caf\u00e9", "cafe\u0301")
	f.Add("../a", "b")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 60_000 || len(b) > 60_000 {
			return
		}
		dir, list, err := unpack(t, pack(t, member{Name: a}, member{Name: b}), archive.Limits{})
		if err != nil {
			known(t, err)
			return
		}
		got := tree(t, dir)
		for _, file := range list {
			if _, ok := got[file.Name]; !ok {
				t.Errorf("%q was not written under its Name: %q", file.Name, names(got))
			}
		}
	})
}

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
	evil := pack(t, member{Name: "evil", Content: "hidden"})
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
				refused(t, place.with(more), archive.Limits{}, failure.ErrArchive)
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
		refused(t, insert(data, second, append(make([]byte, n), evil...)), archive.Limits{}, failure.ErrArchive)
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
			refused(t, append(bytes.Clone(good), more...), archive.Limits{}, failure.ErrArchive)
		}
		if n > 0 {
			refused(t, good[:len(good)-1], archive.Limits{}, failure.ErrArchive)
		}
	}
}

// TestCoveredBytes: bytes of an entry may look like a header.
func TestCoveredBytes(t *testing.T) {
	t.Parallel()
	inner := pack(t, files("inner")...)
	data := pack(t,
		member{Name: "archive.zip", Content: string(inner), Stored: true},
		member{Name: "link", Content: "PK\x03\x04" + strings.Repeat("x", 40), Mode: 0o777 | fs.ModeSymlink, Stored: true},
		member{Name: "d/"}, member{Name: "last"})
	z := must.Get(archive.OpenZip(t.Context(), bytes.NewReader(data), int64(len(data)), archive.Options{Omit: func(_ string, link bool) bool { return link }}))(t)
	if list, err := z.Hash(t.Context()); err != nil || len(list) != 3 {
		t.Errorf("Hash = %v, %v; want 3 entries without the link", list, err)
	}
}

// TestAfterTheContent: a descriptor must be complete and agree with the directory.
func TestAfterTheContent(t *testing.T) {
	t.Parallel()
	data := pack(t, member{Name: "a", Content: strings.Repeat("text ", 20)})
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
	if _, list, err := unpack(t, more, archive.Limits{}); !errors.Is(err, failure.ErrArchive) {
		t.Errorf("more Content: %v, %v, want ErrArchive", list, err)
	}
}
