package regtest

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/verify/checksum"
)

// An archive is a package. Its digests are computed once.
type archive struct {
	content io.ReaderAt
	size    int64
	sum     func() [sha256.Size]byte
	h1      func() checksum.Hash
}

func newArchive(content io.ReaderAt, size int64) *archive {
	a := &archive{content: content, size: size}
	a.sum = sync.OnceValue(func() (sum [sha256.Size]byte) {
		h := sha256.New()
		copyAll(h, content, size)
		return [sha256.Size]byte(h.Sum(nil))
	})
	a.h1 = sync.OnceValue(func() checksum.Hash {
		hash, _, err := checksum.H1Zip(context.Background(), content, size, checksum.Limits{})
		if err != nil {
			return checksum.Hash{}
		}
		return hash
	})
	return a
}

func givenArchive(data []byte) *archive {
	return newArchive(bytes.NewReader(data), int64(len(data)))
}

// copyAll writes all of r to w, in large pieces. Neither can fail.
func copyAll(w io.Writer, r io.ReaderAt, size int64) {
	_, _ = io.CopyBuffer(w, struct{ io.Reader }{io.NewSectionReader(r, 0, size)}, make([]byte, 1<<18))
}

// buildArchives prepares the archives of all platforms.
func (rel *Release) buildArchives() {
	one := sync.OnceValue(func() *archive { return givenArchive(rel.p.Zip) })
	for _, platform := range rel.p.Platforms {
		rel.archives[platform] = sync.OnceValue(func() *archive {
			if data, ok := rel.p.Zips[platform]; ok {
				return givenArchive(data)
			}
			return rel.buildArchive(platform)
		})
		if _, ok := rel.p.Zips[platform]; !ok && rel.p.Zip != nil {
			rel.archives[platform] = one
		}
	}
}

func (rel *Release) buildArchive(platform string) *archive {
	var out sparseFile
	zw := zip.NewWriter(&out)
	rel.writeExecutable(zw, &out, platform)
	for _, name := range slices.Sorted(maps.Keys(rel.p.Files)) {
		w := create(zw, name, 0o644, rel.p.Deflate)
		if !strings.HasSuffix(name, "/") {
			must(io.WriteString(w, rel.p.Files[name]))
		}
	}
	if err := zw.Close(); err != nil {
		panic(fmt.Sprintf("regtest: building an archive: %v", err))
	}
	return newArchive(out.reader(), out.size)
}

// writeExecutable writes the executable, which every package has.
func (rel *Release) writeExecutable(zw *zip.Writer, out *sparseFile, platform string) {
	name := "terraform-provider-" + rel.provider.Type() + "_v" + fileName(canonical(rel.p.Version))
	if strings.HasPrefix(platform, "windows_") {
		name += ".exe"
	}
	title := fmt.Sprintf("%s %s for %s", rel.provider, rel.p.Version, platform)
	switch {
	case rel.p.Size == 0:
		must(fmt.Fprintf(create(zw, name, 0o755, rel.p.Deflate), "#!/bin/sh\n# %q, made by regtest\nexit 1\n", title))
	case rel.p.Deflate:
		must(io.Copy(create(zw, name, 0o755, rel.p.Deflate), io.NewSectionReader(newNoise(title), 0, rel.p.Size)))
	default:
		createComputed(zw, out, name, 0o755, newNoise(title), rel.p.Size)
	}
}

// createComputed writes an entry whose content is computed when it is read. The entry is
// stored, so that any part can be computed.
func createComputed(zw *zip.Writer, out *sparseFile, name string, mode fs.FileMode, content io.ReaderAt, size int64) {
	h := &zip.FileHeader{
		Name: name, Method: zip.Store, CRC32: crc32Of(content, size),
		CompressedSize64: uint64(size), UncompressedSize64: uint64(size),
	}
	h.SetMode(mode)
	w := must(zw.CreateRaw(h))
	out.insert(zw.Flush, w, content, size)
}

// create starts an entry. It is a directory if its name ends with a slash.
func create(zw *zip.Writer, name string, mode fs.FileMode, deflate bool) io.Writer {
	h := &zip.FileHeader{Name: name, Method: zip.Store}
	if deflate {
		h.Method = zip.Deflate
	}
	if strings.HasSuffix(name, "/") {
		h.Method, mode = zip.Store, fs.ModeDir|0o755
	}
	h.SetMode(mode)
	return must(zw.CreateHeader(h))
}

// must returns v. Writes to memory fail only for invalid entries, such as a name that is too
// long.
func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("regtest: building an archive: %v", err))
	}
	return v
}
