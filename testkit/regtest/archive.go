package regtest

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"sort"
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

// A sparseFile is a file in memory with at most one part that is computed when it is read. It
// is written as an [io.Writer].
type sparseFile struct {
	parts   []part
	size    int64
	leaving bool // the written bytes stand for the computed part
}

type part struct {
	at      int64
	size    int64
	content io.ReaderAt
	bytes   *bytes.Buffer // of a part in memory, while it is written
}

func (h *sparseFile) Write(p []byte) (int, error) {
	n := int64(len(p))
	h.size += n
	if h.leaving {
		return len(p), nil
	}
	if len(h.parts) == 0 || h.parts[len(h.parts)-1].bytes == nil {
		h.parts = append(h.parts, part{at: h.size - n, bytes: new(bytes.Buffer)})
	}
	last := &h.parts[len(h.parts)-1]
	last.size += n
	return last.bytes.Write(p)
}

// insert makes content the content of the entry that w writes. The archive writer gets as many
// zeros, to know where the next entry starts. flush makes it write what it buffers.
func (h *sparseFile) insert(flush func() error, w io.Writer, content io.ReaderAt, size int64) {
	must(0, flush())
	h.parts = append(h.parts, part{at: h.size, size: size, content: content})
	h.leaving = true
	zeros := make([]byte, min(size, 1<<20))
	for left := size; left > 0; {
		n := must(w.Write(zeros[:min(left, int64(len(zeros)))]))
		left -= int64(n)
	}
	must(0, flush())
	h.leaving = false
}

// reader returns the file after all is written.
func (h *sparseFile) reader() io.ReaderAt {
	list := make(parts, len(h.parts))
	for i, p := range h.parts {
		if p.bytes != nil {
			p.content = bytes.NewReader(p.bytes.Bytes())
		}
		list[i] = p
	}
	return list
}

// parts are the consecutive parts of a file.
type parts []part

// ReadAt implements [io.ReaderAt].
func (list parts) ReadAt(p []byte, off int64) (n int, err error) {
	i := sort.Search(len(list), func(i int) bool { return off < list[i].at+list[i].size })
	for ; i < len(list) && n < len(p); i++ {
		from := off + int64(n) - list[i].at
		m := int(min(int64(len(p)-n), list[i].size-from))
		if _, err := list[i].content.ReadAt(p[n:n+m], from); err != nil && err != io.EOF {
			return n, err
		}
		n += m
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// noise is an endless incompressible file: the key stream of AES in counter mode, which can be
// computed from any offset.
type noise struct{ block cipher.Block }

func newNoise(seed string) noise {
	key := sha256.Sum256([]byte(seed))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has a legal size
	}
	return noise{block}
}

// ReadAt implements [io.ReaderAt].
func (s noise) ReadAt(p []byte, off int64) (int, error) {
	var counter [aes.BlockSize]byte
	binary.BigEndian.PutUint64(counter[8:], uint64(off/aes.BlockSize))
	stream := cipher.NewCTR(s.block, counter[:])
	if skip := off % aes.BlockSize; skip > 0 {
		var head [aes.BlockSize]byte
		stream.XORKeyStream(head[:skip], head[:skip])
	}
	clear(p)
	stream.XORKeyStream(p, p)
	return len(p), nil
}

// chunks is a file whose content is split into pieces with a header each, as in stored blocks
// of compressed formats. Any part can be computed.
type chunks struct {
	content io.ReaderAt
	size    int64 // of the content
	each    int64 // size of the content of a piece, except the last
	over    int64 // size of a header
	header  func(n int64, first, last bool) []byte
}

// count returns the number of pieces.
func (c *chunks) count() int64 { return (c.size + c.each - 1) / c.each }

// total returns the size of the file.
func (c *chunks) total() int64 { return c.size + c.count()*c.over }

// ReadAt implements [io.ReaderAt].
func (c *chunks) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && off < c.total() {
		i, in := off/(c.over+c.each), off%(c.over+c.each)
		start := i * c.each
		length := min(c.each, c.size-start)
		var m int
		if in < c.over {
			m = copy(p[n:], c.header(length, i == 0, i == c.count()-1)[in:])
		} else {
			in -= c.over
			m = int(min(int64(len(p)-n), length-in))
			if _, err := c.content.ReadAt(p[n:n+m], start+in); err != nil && err != io.EOF {
				return n, err
			}
		}
		n += m
		off += int64(m)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// between returns the file with head before and tail after it.
func (c *chunks) between(head, tail []byte) (io.ReaderAt, int64) {
	var list parts
	size := int64(0)
	add := func(r io.ReaderAt, n int64) {
		list = append(list, part{at: size, size: n, content: r})
		size += n
	}
	add(bytes.NewReader(head), int64(len(head)))
	add(c, c.total())
	add(bytes.NewReader(tail), int64(len(tail)))
	return list, size
}

// crc32Of returns the CRC-32 of content.
func crc32Of(content io.ReaderAt, size int64) uint32 {
	h := crc32.NewIEEE()
	copyAll(h, content, size)
	return h.Sum32()
}

// storeGzip packs content as gzip (RFC 1952) in stored blocks.
func storeGzip(content io.ReaderAt, size int64) (io.ReaderAt, int64) {
	c := &chunks{content: content, size: size, each: 1<<16 - 1, over: 5}
	c.header = func(n int64, _, last bool) []byte {
		h := []byte{0}
		if last {
			h[0] = 1
		}
		h = binary.LittleEndian.AppendUint16(h, uint16(n))
		return binary.LittleEndian.AppendUint16(h, ^uint16(n))
	}
	head := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}
	tail := binary.LittleEndian.AppendUint32(nil, crc32Of(content, size))
	return c.between(head, binary.LittleEndian.AppendUint32(tail, uint32(size)))
}

// storeXz packs content as xz, https://tukaani.org/xz/xz-file-format.txt, in a stored block of
// LZMA2.
func storeXz(content io.ReaderAt, size int64) (io.ReaderAt, int64) {
	c := &chunks{content: content, size: size, each: 1 << 16, over: 3}
	c.header = func(n int64, first, _ bool) []byte {
		h := []byte{2}
		if first {
			h[0] = 1 // starts with an empty dictionary
		}
		return binary.BigEndian.AppendUint16(h, uint16(n-1))
	}
	flags := []byte{0, 1}                      // the check is a CRC-32
	block := []byte{2, 0, 0x21, 1, 8, 0, 0, 0} // LZMA2 with a dictionary of 64 KiB
	head := append([]byte("\xfd7zXZ\x00"), flags...)
	head = withCRC(head, head[6:])
	head = withCRC(append(head, block...), block)

	tail := []byte{0} // the end of LZMA2
	tail = withPadding(tail, c.total()+1)
	tail = binary.LittleEndian.AppendUint32(tail, crc32Of(content, size))

	index := []byte{0, 1}
	index = binary.AppendUvarint(index, uint64(len(block)+4)+uint64(c.total())+1+4)
	index = binary.AppendUvarint(index, uint64(size))
	index = withPadding(index, int64(len(index)))
	tail = withCRC(append(tail, index...), index)

	footer := binary.LittleEndian.AppendUint32(nil, uint32(len(index)+4)/4-1)
	footer = append(footer, flags...)
	tail = binary.LittleEndian.AppendUint32(tail, crc32.ChecksumIEEE(footer))
	tail = append(append(tail, footer...), "YZ"...)
	return c.between(head, tail)
}

// withCRC appends the CRC of data to b.
func withCRC(b, data []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(data))
}

// withPadding appends zeros to b so that size becomes a multiple of four.
func withPadding(b []byte, size int64) []byte { return append(b, make([]byte, (4-size%4)%4)...) }

// pad appends spaces to the body up to size bytes.
func (a *answer) pad(size int64) {
	if more := size - a.size; more > 0 {
		a.body = parts{{size: a.size, content: a.body}, {at: a.size, size: more, content: spaces{}}}
		a.size = size
	}
}

// spaces is an endless file of spaces.
type spaces struct{}

// ReadAt implements [io.ReaderAt].
func (spaces) ReadAt(p []byte, _ int64) (int, error) {
	for n := copy(p, " "); n > 0 && n < len(p); {
		n += copy(p[n:], p[:n])
	}
	return len(p), nil
}

// acceptsGzip reports whether the client accepts gzip.
func (c *call) acceptsGzip() bool {
	return c.gunzip || strings.Contains(c.header.Get("Accept-Encoding"), "gzip")
}

// compress compresses the body, unless it is partial.
func (w *wire) compress() {
	body, size := w.content()
	if size == 0 || w.status == http.StatusPartialContent {
		return
	}
	var packed bytes.Buffer
	z := must(gzip.NewWriterLevel(&packed, gzip.BestSpeed)) // a level that there is
	_, _ = io.CopyN(z, body, size)                          // both are in memory
	_ = z.Close()
	w.body, w.size = &packed, int64(packed.Len())
	w.header.Set("Content-Encoding", "gzip")
}

// gunzips reports whether net/http would request gzip and decompress it transparently.
func gunzips(req *http.Request) bool {
	return req.Header.Get("Accept-Encoding") == "" && req.Header.Get("Range") == "" && req.Method != http.MethodHead
}

// gunzip decompresses a response as net/http does.
func gunzip(resp *http.Response) {
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	resp.Uncompressed = true
	resp.Body = &gunzipped{ReadCloser: resp.Body}
}

type gunzipped struct {
	io.ReadCloser
	z   *gzip.Reader // set by the first Read
	err error
}

// Read implements [io.Reader].
func (g *gunzipped) Read(p []byte) (int, error) {
	if g.z == nil && g.err == nil {
		g.z, g.err = gzip.NewReader(g.ReadCloser)
	}
	if g.err != nil {
		return 0, g.err
	}
	return g.z.Read(p)
}
