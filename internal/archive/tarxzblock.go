package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// xzBlock is the block that is being read.
type xzBlock struct {
	packed, size int64 // as announced; -1: not
	dictionary   int64

	in        *countedReader
	from      int64 // where its data start
	headerLen int64
	lzma      io.Reader
	sum       hash.Hash
	n         int64 // bytes delivered
}

func (b *xzBlock) read(p []byte) (int, error) {
	n, err := b.lzma.Read(p)
	b.n += int64(n)
	b.sum.Write(p[:n])
	if b.size >= 0 && b.n > b.size {
		return n, errors.New("xz: a block is longer than it announces")
	}
	return n, err
}

// parseXZBlock reads the header of a block, whose last four bytes are its checksum.
func parseXZBlock(h []byte) (*xzBlock, error) {
	end := len(h) - 4
	if crc32.ChecksumIEEE(h[:end]) != binary.LittleEndian.Uint32(h[end:]) {
		return nil, errXZ
	}
	b := &xzBlock{packed: -1, size: -1}
	flags, in := h[1], bytes.NewReader(h[2:end])
	for _, field := range []struct {
		flag byte
		to   *int64
	}{{0x40, &b.packed}, {0x80, &b.size}} {
		if flags&field.flag == 0 {
			continue
		}
		n, err := binary.ReadUvarint(in)
		if err != nil || n > 1<<62 {
			return nil, errXZ
		}
		*field.to = int64(n)
	}
	var filter [3]byte // LZMA2, one byte of properties, the dictionary
	if _, err := io.ReadFull(in, filter[:]); err != nil {
		return nil, errXZ
	}
	if flags&0x3f != 0 || filter[0] != 0x21 || filter[1] != 1 {
		return nil, errors.New("xz: other filters than LZMA2 are not supported")
	}
	var err error
	b.dictionary, err = lzma.DecodeDictCap(filter[2])
	if err != nil {
		return nil, errXZ
	}
	if b.dictionary > maxDictionary {
		return nil, tooLarge("a dictionary of %d bytes, %d are allowed", b.dictionary, maxDictionary)
	}
	for in.Len() > 0 {
		if c, _ := in.ReadByte(); c != 0 {
			return nil, errXZ
		}
	}
	return b, nil
}

// xzIndex is a digest of the list of blocks, which itself need not be kept.
type xzIndex struct {
	count uint64
	sum   hash.Hash
}

func (i *xzIndex) add(packed, size uint64) {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], packed)
	binary.LittleEndian.PutUint64(b[8:], size)
	i.sum.Write(b[:])
	i.count++
}

// countedReader counts, and computes a checksum while it has one.
type countedReader struct {
	r   io.Reader
	n   int64
	crc hash.Hash32
	one [1]byte
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if c.crc != nil {
		c.crc.Write(p[:n])
	}
	return n, err
}

func (c *countedReader) ReadByte() (byte, error) {
	_, err := io.ReadFull(c, c.one[:])
	return c.one[0], err
}

// zeros reads n bytes of padding.
func (c *countedReader) zeros(n int64) error {
	for range n {
		b, err := c.ReadByte()
		if err != nil {
			return noEOF(err)
		}
		if b != 0 {
			return errXZ
		}
	}
	return nil
}

// swapped is a checksum in little-endian order.
type swapped struct{ hash.Hash }

func (s swapped) Sum(b []byte) []byte {
	sum := s.Hash.Sum(nil)
	for i := len(sum) - 1; i >= 0; i-- {
		b = append(b, sum[i])
	}
	return b
}

// noHash is the check of streams without one.
type noHash struct{}

func (noHash) Write(p []byte) (int, error) { return len(p), nil }
func (noHash) Sum(b []byte) []byte         { return b }
func (noHash) Reset()                      {}
func (noHash) Size() int                   { return 0 }
func (noHash) BlockSize() int              { return 1 }
