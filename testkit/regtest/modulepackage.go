package regtest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A ModuleRelease is a version of a module.
type ModuleRelease struct {
	m       Module // with defaults
	address addrs.Module
	dir     string // among the releases of the module
	pack    func() *archive
}

func newModuleRelease(r *Registry, m Module) *ModuleRelease {
	address, err := addrs.ParseModuleIn(r.host, m.Address)
	if err != nil {
		panic(fmt.Sprintf("regtest: AddModule: %v", err))
	}
	m.Version = cmp.Or(m.Version, "1.0.0")
	m.Format, m.Answer = cmp.Or(m.Format, "tar.gz"), cmp.Or(m.Answer, "header")
	if m.UseRegistryCredentials != nil {
		m.UseRegistryCredentials = new(*m.UseRegistryCredentials)
	}
	m.Files, m.Properties = maps.Clone(m.Files), maps.Clone(m.Properties)
	rel := &ModuleRelease{m: m, address: address}
	if m.Files == nil {
		rel.m.Files = rel.defaultFiles()
	}
	mustBeOneOf("AddModule: Format", m.Format, "tar.gz", "zip", "tar.xz", "tar.bz2")
	mustBeOneOf("AddModule: Answer", m.Answer, "header", "body", "both", "empty object", "empty body", "none")
	if err := rel.m.check(); err != nil {
		panic(fmt.Sprintf("regtest: AddModule: %v", err))
	}
	rel.pack = sync.OnceValue(rel.build)
	return rel
}

// findModule returns the release that is served in dir, or nil.
func findModule(list []*ModuleRelease, dir string) *ModuleRelease {
	for _, rel := range list {
		if rel.dir == dir {
			return rel
		}
	}
	return nil
}

// defaultFiles returns files that tofu and terraform accept as a module.
func (rel *ModuleRelease) defaultFiles() map[string]string {
	text := fmt.Sprintf("# %q, made by regtest\n", rel.address.String()+" "+rel.m.Version)
	files := map[string]string{"main.tf": text}
	if sub := strings.Trim(strings.ReplaceAll(rel.m.Subdir, "*", "any"), "/"); sub != "" {
		files[sub+"/main.tf"] = text
	}
	return files
}

// filename returns, for example, "network-1.0.0.tar.gz".
func (rel *ModuleRelease) filename() string {
	return fmt.Sprintf("%s-%s.%s", fileName(rel.address.Name()), fileName(rel.m.Version), rel.m.Format)
}

// H1 returns the h1 of the files, or the zero Hash if Module.Package is set or a name is invalid.
func (rel *ModuleRelease) H1() checksum.Hash { return rel.pack().h1() }

// largeFile is the file of Module.Size.
const largeFile = "large.bin"

// build makes the package.
func (rel *ModuleRelease) build() *archive {
	if rel.m.Package != nil {
		a := newArchive(bytes.NewReader(rel.m.Package), int64(len(rel.m.Package)))
		a.h1 = func() checksum.Hash { return checksum.Hash{} }
		return a
	}
	a := newArchive(rel.content())
	a.h1 = rel.filesH1
	return a
}

// content packs the files.
func (rel *ModuleRelease) content() (io.ReaderAt, int64) {
	if rel.m.Format == "zip" {
		return rel.zip()
	}
	inner, size := rel.tar()
	switch {
	case rel.m.Format == "tar.xz":
		return storeXz(inner, size)
	case rel.m.Deflate:
		return compress(inner, size)
	}
	return storeGzip(inner, size)
}

// compress compresses a file by gzip.
func compress(r io.ReaderAt, size int64) (io.ReaderAt, int64) {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	must(io.Copy(w, io.NewSectionReader(r, 0, size)))
	must(0, w.Close())
	return bytes.NewReader(buf.Bytes()), int64(buf.Len())
}

func (rel *ModuleRelease) tar() (io.ReaderAt, int64) {
	var out sparseFile
	tw := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(rel.m.Files)) {
		h := tarHeader(name, len(rel.m.Files[name]))
		must(0, tw.WriteHeader(h))
		if h.Typeflag == tar.TypeReg {
			must(io.WriteString(tw, rel.m.Files[name]))
		}
	}
	if rel.m.Size > 0 {
		must(0, tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: largeFile, Mode: 0o644, Size: rel.m.Size}))
		// A tar writer does not buffer within an entry.
		out.insert(func() error { return nil }, tw, rel.noise(), rel.m.Size)
	}
	must(0, tw.Close())
	return out.reader(), out.size
}

// tarHeader returns the header of a file or directory.
func tarHeader(name string, size int) *tar.Header {
	if strings.HasSuffix(name, "/") {
		return &tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}
	}
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(size)}
}

func (rel *ModuleRelease) zip() (io.ReaderAt, int64) {
	var out sparseFile
	zw := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(rel.m.Files)) {
		w := create(zw, name, 0o644, rel.m.Deflate)
		if !strings.HasSuffix(name, "/") {
			must(io.WriteString(w, rel.m.Files[name]))
		}
	}
	if rel.m.Size > 0 {
		createComputed(zw, &out, largeFile, 0o644, rel.noise(), rel.m.Size)
	}
	must(0, zw.Close())
	return out.reader(), out.size
}

// noise returns the content of the large file.
func (rel *ModuleRelease) noise() noise {
	return newNoise(fmt.Sprintf("%s %s", rel.address, rel.m.Version))
}

// filesH1 returns the h1 of the files.
func (rel *ModuleRelease) filesH1() checksum.Hash {
	hash, err := hashlist.H1(func(yield func(string, [sha256.Size]byte) bool) {
		for name, text := range rel.m.Files {
			if !strings.HasSuffix(name, "/") && !yield(name, sha256.Sum256([]byte(text))) {
				return
			}
		}
		if rel.m.Size > 0 {
			h := sha256.New()
			copyAll(h, rel.noise(), rel.m.Size)
			yield(largeFile, [sha256.Size]byte(h.Sum(nil)))
		}
	})
	if err != nil {
		return checksum.Hash{}
	}
	return hash
}
