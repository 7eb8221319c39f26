// Package archivetest makes archives for tests, and reads what was unpacked.
package archivetest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
)

// Entry is an entry of an archive. The name of a directory ends in a slash. The content of a symbolic link is its target.
type Entry struct {
	Name, Content string
	Mode          fs.FileMode           // type bits and permissions; if zero, a zip has none, as one made on Windows
	Stored        bool                  // in a zip: not deflated
	Raw           bool                  // in a zip: stored, with sizes and CRC-32 before the content
	Header        func(*zip.FileHeader) // in a zip: changes the header, if not nil
}

// Zip returns a zip archive of the entries, in their order.
func Zip(t testing.TB, entries ...Entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.Name, Method: zip.Deflate}
		if e.Stored || e.Raw {
			h.Method = zip.Store
		}
		if e.Mode != 0 {
			h.SetMode(e.Mode)
		}
		if e.Header != nil {
			e.Header(h)
		}
		create := z.CreateHeader
		if e.Raw {
			h.CRC32, h.CompressedSize64, h.UncompressedSize64 = crc32.ChecksumIEEE([]byte(e.Content)), uint64(len(e.Content)), uint64(len(e.Content))
			create = z.CreateRaw
		}
		must.Get(io.WriteString(must.Get(create(h))(t), e.Content))(t)
	}
	must.Do(t, z.Close())
	return buf.Bytes()
}

// Tar returns an uncompressed tar of the entries, in their order.
func Tar(t testing.TB, entries ...Entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.Name, Mode: int64(e.Mode.Perm()), Size: int64(len(e.Content)), Format: tar.FormatPAX}
		switch e.Mode.Type() {
		case fs.ModeDir:
			h.Typeflag = tar.TypeDir
		case fs.ModeSymlink:
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.Content, 0
		case fs.ModeNamedPipe:
			h.Typeflag = tar.TypeFifo
		}
		must.Do(t, w.WriteHeader(h))
		if h.Size > 0 {
			must.Get(io.WriteString(w, e.Content))(t)
		}
	}
	must.Do(t, w.Close())
	return buf.Bytes()
}

// Gzip compresses data.
func Gzip(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	must.Get(w.Write(data))(t)
	must.Do(t, w.Close())
	return buf.Bytes()
}

// Forge appends four bytes that give data this CRC-32.
func Forge(data []byte, sum uint32) []byte {
	state := ^sum
	for range 4 {
		i := slices.IndexFunc(crc32.IEEETable[:], func(entry uint32) bool { return entry>>24 == state>>24 })
		state = (state^crc32.IEEETable[i])<<8 | uint32(i)
	}
	return binary.LittleEndian.AppendUint32(data, state^^crc32.ChecksumIEEE(data))
}

// Tree returns the contents of the files below dir by their names. The names of directories end in a slash, and files
// that are not regular have their type as content.
func Tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir():
			out[rel+"/"] = ""
			return nil
		case !d.Type().IsRegular():
			out[rel] = d.Type().String()
			return nil
		}
		data, err := os.ReadFile(path)
		out[rel] = string(data)
		return err
	}))
	return out
}
