package archive_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// member is an entry of a test archive.
type member = archivetest.Entry

// pack builds a zip archive of members, in their order.
func pack(t testing.TB, members ...member) []byte {
	t.Helper()
	return archivetest.Zip(t, members...)
}

func files(names ...string) []member {
	var out []member
	for _, name := range names {
		out = append(out, member{Name: name, Content: "content of " + name})
	}
	return out
}

func open(data []byte, o archive.Options) (*archive.Zip, error) {
	return archive.OpenZip(context.Background(), bytes.NewReader(data), int64(len(data)), o)
}

// unpack unpacks data into a new directory and returns its path.
func unpack(t testing.TB, data []byte, l archive.Limits) (string, []archive.File, error) {
	t.Helper()
	dir := t.TempDir()
	z, err := open(data, archive.Options{Limits: l})
	if err != nil {
		return dir, nil, err
	}
	list, err := z.Unpack(t.Context(), openRoot(t, dir))
	return dir, list, err
}

// openRoot opens dir until the test ends.
func openRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	root := must.Get(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	return root
}

// accepted is an archive, and whether it is accepted.
type accepted struct {
	data []byte
	ok   bool
}

// judged checks that archives are accepted, or refused with ErrArchive before anything is written.
func judged(t *testing.T, tests map[string]accepted) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !tt.ok {
				refused(t, tt.data, archive.Limits{}, failure.ErrArchive)
			} else if _, _, err := unpack(t, tt.data, archive.Limits{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// tree returns the files below dir with their content.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	return archivetest.Tree(t, dir)
}

func names(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// headers returns the offsets of the central headers in data.
func headers(data []byte) []int {
	end := bytes.LastIndex(data, []byte("PK\x05\x06"))
	at := int(binary.LittleEndian.Uint32(data[end+16:]))
	var out []int
	for at < end && string(data[at:at+4]) == "PK\x01\x02" {
		out = append(out, at)
		le := binary.LittleEndian
		at += 46 + int(le.Uint16(data[at+28:])) + int(le.Uint16(data[at+30:])) + int(le.Uint16(data[at+32:]))
	}
	return out
}

// patch returns data with put applied to a copy.
func patch(data []byte, put func(b []byte)) []byte {
	data = bytes.Clone(data)
	put(data)
	return data
}

// settled moves sizes and checksums from the descriptors to the headers before the contents.
func settled(data []byte) []byte {
	return patch(data, func(b []byte) {
		for _, h := range headers(b) {
			local := b[binary.LittleEndian.Uint32(b[h+42:]):]
			put16(b[h+8:], 0)
			put16(local[6:], 0)
			copy(local[14:26], b[h+16:h+28])
		}
	})
}

// before adds extra fields to the header before the content of the only file.
func before(data, extra []byte) []byte {
	name := int(binary.LittleEndian.Uint16(data[26:]))
	data = slices.Insert(bytes.Clone(data), 30+name, extra...)
	put16(data[28:], len(extra))
	end := endOf(data)
	put32(end[16:], int(binary.LittleEndian.Uint32(end[16:]))+len(extra))
	return data
}

// inDirectory adds extra fields to the header of the only file in the directory.
func inDirectory(data, extra []byte) []byte {
	h := headers(data)[0]
	name := int(binary.LittleEndian.Uint16(data[h+28:]))
	data = slices.Insert(bytes.Clone(data), h+46+name, extra...)
	put16(data[h+30:], len(extra))
	end := endOf(data)
	put32(end[12:], int(binary.LittleEndian.Uint32(end[12:]))+len(extra))
	return data
}

// endOf returns the end record of b.
func endOf(b []byte) []byte { return b[bytes.LastIndex(b, []byte("PK\x05\x06")):] }

func put16(b []byte, n int) { binary.LittleEndian.PutUint16(b, uint16(n)) }

// put32 writes n; -1 is 0xffffffff, which is not an int on some systems.
func put32(b []byte, n int) { binary.LittleEndian.PutUint32(b, uint32(n)) }

// records64 returns the two records that large archives have before the end record; the first is at
// offset at.
func records64(entries, size, offset, at uint64) (end64, locator []byte) {
	le := binary.LittleEndian
	end64, locator = make([]byte, 56), make([]byte, 20)
	copy(end64, "PK\x06\x06")
	le.PutUint64(end64[4:], 44)
	le.PutUint64(end64[24:], entries)
	le.PutUint64(end64[32:], entries)
	le.PutUint64(end64[40:], size)
	le.PutUint64(end64[48:], offset)
	copy(locator, "PK\x06\x07")
	le.PutUint64(locator[8:], at)
	locator[16] = 1
	return end64, locator
}
