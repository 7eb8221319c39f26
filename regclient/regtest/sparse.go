package regtest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"sort"
)

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
