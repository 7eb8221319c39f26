package regtest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
)

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
