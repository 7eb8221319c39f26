package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

const (
	xzMagic     = "\xfd7zXZ\x00"
	xzHeaderLen = 12
	xzFooterLen = 12

	// maxDictionary is the largest dictionary that the levels 0 to 9 of the xz
	// program use.
	maxDictionary = 64 << 20
)

// xzReader reads the container format of xz and leaves LZMA2 itself to a library.
// That library has a reader for the container too, but it allocates a dictionary of
// whatever size a header says, four gigabytes for example, and a list of all blocks.
// See https://tukaani.org/xz/xz-file-format.txt.
type xzReader struct {
	in    *countedReader
	check func() hash.Hash // of the current stream
	flags byte
	block *xzBlock // nil: between two blocks
	index xzIndex  // of the blocks so far
	spent int64    // bytes allocated for dictionaries
	total int64    // bytes delivered
	open  bool     // within a stream
	any   bool     // a stream has been read
	err   error
}

func newXZReader(r io.Reader) *xzReader { return &xzReader{in: &countedReader{r: r}} }

func (x *xzReader) Read(p []byte) (n int, err error) {
	for n == 0 && x.err == nil && len(p) > 0 {
		n, x.err = x.read(p)
		x.total += int64(n)
	}
	return n, x.err
}

func (x *xzReader) read(p []byte) (int, error) {
	switch {
	case !x.open:
		return 0, x.startStream()
	case x.block == nil:
		return 0, x.startBlock()
	}
	n, err := x.block.read(p)
	if err == io.EOF {
		err = x.endBlock()
	}
	return n, noEOF(err)
}

// startStream reads the header of a stream. Several may follow each other, with
// padding between them; io.EOF is the orderly end.
func (x *xzReader) startStream() error {
	var h [xzHeaderLen]byte
	for {
		if _, err := io.ReadFull(x.in, h[:4]); err != nil {
			if x.any {
				return err // io.EOF after the last stream
			}
			return noEOF(err)
		}
		if !x.any || h[0]|h[1]|h[2]|h[3] != 0 {
			break
		}
	}
	if _, err := io.ReadFull(x.in, h[4:]); err != nil {
		return noEOF(err)
	}
	if string(h[:len(xzMagic)]) != xzMagic || h[6] != 0 || crc32.ChecksumIEEE(h[6:8]) != binary.LittleEndian.Uint32(h[8:]) {
		return errXZ
	}
	x.flags, x.check = h[7], xzChecks[h[7]]
	if x.check == nil {
		return errors.New("xz: unknown kind of check")
	}
	x.open, x.any = true, true
	x.index = xzIndex{sum: sha256.New()}
	return nil
}

var errXZ = errors.New("xz: a header or a checksum is wrong")

// xzChecks are the kinds of checks by the flags of a stream.
var xzChecks = map[byte]func() hash.Hash{
	0x00: func() hash.Hash { return noHash{} },
	0x01: func() hash.Hash { return swapped{crc32.NewIEEE()} },
	0x04: func() hash.Hash { return swapped{crc64.New(crc64.MakeTable(crc64.ECMA))} },
	0x0a: sha256.New,
}

// startBlock reads the header of a block, or the index, which starts with a zero.
func (x *xzReader) startBlock() error {
	from := x.in.n
	var h [1024]byte
	if _, err := io.ReadFull(x.in, h[:1]); err != nil {
		return noEOF(err)
	}
	if h[0] == 0 {
		return x.endStream()
	}
	header := h[:4*(int(h[0])+1)]
	if _, err := io.ReadFull(x.in, header[1:]); err != nil {
		return noEOF(err)
	}
	b, err := parseXZBlock(header)
	if err != nil {
		return err
	}
	// Each block allocates its dictionary anew. Honest blocks are not much smaller
	// than that; of tiny ones a small archive could hold millions.
	if b.size >= 0 {
		b.dictionary = max(min(b.dictionary, b.size), lzma.MinDictCap)
	}
	x.spent += b.dictionary
	if x.spent > 16*maxDictionary+64*x.total {
		return errors.New("xz: the blocks are too small for their dictionaries")
	}
	b.in, b.from, b.headerLen = x.in, x.in.n, x.in.n-from
	b.sum = x.check()
	b.lzma, err = lzma.Reader2Config{DictCap: int(b.dictionary)}.NewReader2(x.in)
	x.block = b
	return err
}

func (x *xzReader) endBlock() error {
	b := x.block
	x.block = nil
	packed := x.in.n - b.from
	if b.packed >= 0 && b.packed != packed || b.size >= 0 && b.size != b.n {
		return errors.New("xz: a block has not the size that it announces")
	}
	if err := x.in.zeros(-packed & 3); err != nil {
		return err
	}
	want := b.sum.Sum(nil)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(x.in, got); err != nil {
		return noEOF(err)
	}
	if !bytes.Equal(got, want) {
		return errXZ
	}
	x.index.add(uint64(b.headerLen+packed)+uint64(len(want)), uint64(b.n))
	return nil
}

// endStream reads the index behind its first byte, and the footer.
func (x *xzReader) endStream() error {
	from := x.in.n - 1
	x.in.crc = crc32.NewIEEE()
	x.in.crc.Write([]byte{0})
	count, err := binary.ReadUvarint(x.in)
	if err == nil && count != x.index.count {
		return errors.New("xz: the index has not as many entries as there are blocks")
	}
	index := xzIndex{sum: sha256.New()}
	for index.count < x.index.count && err == nil {
		var packed, size uint64
		if packed, err = binary.ReadUvarint(x.in); err == nil {
			size, err = binary.ReadUvarint(x.in)
		}
		index.add(packed, size)
	}
	if err == nil {
		err = x.in.zeros(-(x.in.n - from) & 3)
	}
	crc := x.in.crc.Sum32()
	x.in.crc = nil
	if err != nil {
		return noEOF(err)
	}
	var f [4 + xzFooterLen]byte
	if _, err := io.ReadFull(x.in, f[:]); err != nil {
		return noEOF(err)
	}
	indexLen := uint64(x.in.n - from - xzFooterLen)
	le, footer := binary.LittleEndian, f[4:]
	if le.Uint32(f[:]) != crc || !bytes.Equal(index.sum.Sum(nil), x.index.sum.Sum(nil)) ||
		le.Uint32(footer) != crc32.ChecksumIEEE(footer[4:10]) || (uint64(le.Uint32(footer[4:]))+1)*4 != indexLen ||
		footer[8] != 0 || footer[9] != x.flags || string(footer[10:]) != "YZ" {
		return errXZ
	}
	x.open = false
	return nil
}
