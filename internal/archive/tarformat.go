package archive

import (
	"bufio"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/therootcompany/xz"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/inflate"
)

// Format is the format of an archive.
type Format string

// The formats of module packages.
const (
	FormatZip      Format = "zip"
	FormatTarGzip  Format = "tar.gz"
	FormatTarXz    Format = "tar.xz"
	FormatTarBzip2 Format = "tar.bz2"

	// FormatTar is an uncompressed tar, for example from git. Sniff does not detect it.
	FormatTar Format = "tar"
)

// SniffLen is the number of bytes that [Sniff] needs.
const SniffLen = 6

// Sniff returns the format of an archive from its first bytes, or "". It does not check that
// compressed data contains a tar.
func Sniff(head []byte) Format {
	has := func(magic string) bool { return len(head) >= len(magic) && string(head[:len(magic)]) == magic }
	switch {
	case has("PK\x03\x04"), has(endSig): // endSig starts a zip without entries
		return FormatZip
	case has("\x1f\x8b"):
		return FormatTarGzip
	case has("\xfd7zXZ\x00"):
		return FormatTarXz
	case has("BZh") && len(head) > 3 && '1' <= head[3] && head[3] <= '9':
		return FormatTarBzip2
	}
	return ""
}

// decompressor returns a reader of the decompressed data. Its memory is bounded, for xz by maxDictionary.
func (f Format) decompressor(r *bufio.Reader) (in io.Reader, err error) {
	switch f {
	case FormatTarGzip:
		in = inflate.NewGzipReader(r)
	case FormatTarXz:
		return xz.NewReader(r, maxDictionary)
	case FormatTarBzip2:
		in = bzip2.NewReader(r)
	case FormatTar:
		in = r
	default:
		return nil, fmt.Errorf("%q is not a tar", string(f))
	}
	return in, nil
}

// A packedReader reads compressed data. It remembers its error, which tells a broken connection from
// a damaged archive.
type packedReader struct {
	r     io.Reader
	left  int64 // bytes still allowed
	limit int64
	err   error
}

func (o *packedReader) Read(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.r.Read(p)
	o.left -= int64(n)
	if o.left < 0 {
		err = tooLarge("more than %d bytes", o.limit)
	}
	if err != io.EOF {
		o.err = err
	}
	return n, err
}

// A tarStream reads decompressed data. Its errors are io.EOF, those of packed and the context,
// or wrap fault.ErrArchive or fault.ErrTooLarge.
type tarStream struct {
	ctx    context.Context
	format Format
	packed *packedReader
	in     io.Reader // nil before the first read
	left   int64     // bytes still allowed
	err    error
}

func newTarStream(ctx context.Context, r io.Reader, f Format, l Limits) *tarStream {
	return &tarStream{
		ctx:    ctx,
		format: f,
		packed: &packedReader{r: Until(ctx, r), left: l.Package, limit: l.Package},
		left:   streamLimit(l),
	}
}

// maxPadding is the maximum length of zeros after the end of a tar. Programs for tapes fill their
// last block, of 10 KiB by default and rarely of 1 MiB.
const maxPadding = 4 << 20

// streamLimit returns the maximum length of a tar within l: the content, and for each entry a
// header, padding, and an extra header with a long name.
func streamLimit(l Limits) int64 {
	perEntry := 4096 + 2*int64(min(l.NameLen, 1<<20))
	overhead := int64(min(l.Entries, 1<<30))*perEntry + maxPadding
	if l.Unpacked > 1<<62-overhead {
		return 1 << 62
	}
	return l.Unpacked + overhead
}

func (i *tarStream) Read(p []byte) (int, error) {
	if i.err == nil && i.ctx.Err() != nil {
		i.err = fault.Ended(i.ctx)
	}
	if i.err != nil {
		return 0, i.err
	}
	n, err := i.read(p)
	i.left -= int64(n)
	switch {
	case i.packed.err != nil:
		i.err = i.packed.err
	case err != nil && i.ctx.Err() != nil:
		i.err = fault.Ended(i.ctx)
	case i.left < 0:
		i.err = tooLarge("the tar exceeds the limits of content and headers")
	case err == io.EOF:
		i.err = err
	case err != nil:
		i.err = unreadable(err)
	}
	return n, i.err
}

func (i *tarStream) read(p []byte) (int, error) {
	if i.in == nil {
		var err error
		if i.in, err = i.format.decompressor(bufio.NewReaderSize(i.packed, 64<<10)); err != nil {
			i.in = nil
			return 0, err
		}
	}
	return i.in.Read(p)
}

// drain reads the data after the end of the tar, which must be zeros: other readers might interpret
// other data.
func (i *tarStream) drain(buf []byte) error {
	size := 0
	for idle := 0; idle < 100; idle++ {
		n, err := i.Read(buf)
		if size += n; size > maxPadding {
			return tooLarge("more than %d bytes after the end of the tar", maxPadding)
		}
		for _, b := range buf[:n] {
			idle = 0
			if b != 0 {
				return bad("data after the end of the tar")
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// maxDictionary is the largest dictionary that the levels 0 to 9 of the xz program use.
const maxDictionary = 64 << 20

// unreadable converts errors of decompressors and of archive/tar, which all are about invalid data.
func unreadable(err error) error {
	if d := damaged(err); d != err || errors.Is(err, fault.ErrArchive) || errors.Is(err, fault.ErrTooLarge) {
		return d
	}
	if errors.Is(err, xz.ErrMemlimit) {
		return tooLarge("an xz dictionary of more than %d bytes", maxDictionary)
	}
	return bad("%w", err)
}
