package inflate

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// A GzipReader decodes a gzip file: RFC 1952. It is not safe for concurrent use.
type GzipReader struct {
	in       *bufio.Reader
	r        *Reader
	inMember bool
	sum      uint32 // CRC-32 of the header, then of the content
	size     uint32 // of the content, modulo 2^32
	err      error
}

// NewGzipReader returns a GzipReader of a file with one or more members.
func NewGzipReader(in *bufio.Reader) *GzipReader {
	return &GzipReader{in: in, r: NewReader(in)}
}

// Read implements [io.Reader] with the errors of [Reader.Read]. A wrong checksum and other data
// after a member than zeros and another member are ErrCorrupt, too.
func (z *GzipReader) Read(p []byte) (int, error) {
	for z.err == nil {
		if !z.inMember {
			z.err = z.header()
			continue
		}
		n, err := z.r.Read(p)
		if err == nil {
			z.sum = crc32.Update(z.sum, crc32.IEEETable, p[:n])
			z.size += uint32(n)
			return n, nil
		}
		z.err = err
		if err == io.EOF {
			z.err = z.trailer()
		}
	}
	return 0, z.err
}

// The flags of a header: RFC 1952, section 2.3.1.
const (
	flagHeaderSum = 1 << 1
	flagExtra     = 1 << 2
	flagName      = 1 << 3
	flagComment   = 1 << 4
)

// header reads the header of a member: RFC 1952, section 2.3.
func (z *GzipReader) header() error {
	var h [10]byte
	z.sum = 0
	if err := z.next(h[:]); err != nil {
		return err
	}
	if h[0] != 0x1f || h[1] != 0x8b || h[2] != 8 {
		return ErrCorrupt
	}
	flags := h[3]
	if flags&flagExtra != 0 {
		if err := z.next(h[:2]); err != nil {
			return err
		}
		if err := z.next(make([]byte, binary.LittleEndian.Uint16(h[:]))); err != nil {
			return err
		}
	}
	for _, flag := range []byte{flagName, flagComment} {
		if flags&flag != 0 {
			if err := z.skipString(); err != nil {
				return err
			}
		}
	}
	if flags&flagHeaderSum != 0 {
		want := uint16(z.sum)
		if err := z.next(h[:2]); err != nil {
			return err
		}
		if binary.LittleEndian.Uint16(h[:]) != want {
			return ErrCorrupt
		}
	}
	z.r.Reset(z.in)
	z.inMember, z.sum, z.size = true, 0, 0
	return nil
}

// skipString skips a string of at most 511 bytes, the limit of compress/gzip, and its final zero.
func (z *GzipReader) skipString() error {
	var b [1]byte
	for range 512 {
		if err := z.next(b[:]); err != nil {
			return err
		}
		if b[0] == 0 {
			return nil
		}
	}
	return ErrCorrupt
}

// next reads a part of a header.
func (z *GzipReader) next(p []byte) error {
	if _, err := io.ReadFull(z.in, p); err == io.EOF {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	z.sum = crc32.Update(z.sum, crc32.IEEETable, p)
	return nil
}

// trailer checks the data after a member: RFC 1952, section 2.3.1. It returns io.EOF at the end of
// the file.
func (z *GzipReader) trailer() error {
	var t [8]byte
	sum := z.sum
	if err := z.next(t[:]); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(t[:]) != sum || binary.LittleEndian.Uint32(t[4:]) != z.size {
		return ErrCorrupt
	}
	z.inMember = false
	switch next, err := z.in.Peek(2); {
	case len(next) == 0:
		return err
	case next[0] == 0:
		return z.padding()
	case !bytes.HasPrefix([]byte{0x1f, 0x8b}, next):
		return errAfter
	}
	return nil
}

// padding reads zeros up to the end of the file.
func (z *GzipReader) padding() error {
	for {
		b, err := z.in.Peek(max(1, z.in.Buffered()))
		if len(b) == 0 {
			return err
		}
		if len(bytes.Trim(b, "\x00")) > 0 {
			return errAfter
		}
		z.in.Discard(len(b))
	}
}

// errAfter is an ErrCorrupt.
var errAfter = fmt.Errorf("%w: data after the end of a gzip member", ErrCorrupt)
