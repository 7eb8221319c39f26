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

// Format tells how an archive is packed.
type Format string

// The formats that archives of modules have.
const (
	FormatZip      Format = "zip"
	FormatTarGzip  Format = "tar.gz"
	FormatTarXz    Format = "tar.xz"
	FormatTarBzip2 Format = "tar.bz2"

	// FormatTar is not compressed, and not sniffed: it is for what other programs
	// pack on the way.
	FormatTar Format = "tar"
)

// SniffLen is how many bytes [Sniff] looks at.
const SniffLen = 6

// Sniff tells the format of an archive by its first bytes, "" if it is none. That
// there is a tar inside of what is compressed shows only when it is unpacked.
func Sniff(head []byte) Format {
	has := func(magic string) bool { return len(head) >= len(magic) && string(head[:len(magic)]) == magic }
	switch {
	case has("PK\x03\x04"), has(endSig): // the latter has no entries
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

// decompressor returns a reader of what r holds compressed. The memory that it uses
// is bounded, whatever r says.
func (f Format) decompressor(r *bufio.Reader) (io.Reader, error) {
	switch f {
	case FormatTarGzip:
		return inflate.NewGzipReader(r), nil
	case FormatTarXz:
		return xz.NewReader(r, maxDictionary)
	case FormatTarBzip2:
		return bzip2.NewReader(r), nil
	case FormatTar:
		return r, nil
	}
	return nil, fmt.Errorf("%q is not a tar", string(f))
}

// An origin is the reader that compressed data comes from. It remembers its own
// error, so that a broken connection is not taken for a broken archive.
type origin struct {
	r     io.Reader
	left  int64 // bytes that it may still deliver
	limit int64
	err   error
}

func (o *origin) Read(p []byte) (int, error) {
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

// An inflow is the decompressed side. Its errors other than io.EOF are those of the
// origin or of the context, or wrap fault.ErrArchive or fault.ErrTooLarge.
type inflow struct {
	ctx    context.Context
	format Format
	origin *origin
	in     io.Reader // nil before the first read
	left   int64     // bytes that it may still deliver
	err    error
}

func newInflow(ctx context.Context, r io.Reader, f Format, l Limits) *inflow {
	return &inflow{
		ctx:    ctx,
		format: f,
		origin: &origin{r: Until(ctx, r), left: l.Package, limit: l.Package},
		left:   streamLimit(l),
	}
}

// maxPadding bounds what may follow the end of a tar. Programs that write to tapes fill
// their last block, of ten kilobytes by default and rarely of a megabyte.
const maxPadding = 4 << 20

// streamLimit returns how long a tar within l can be: what is not content are a
// header of 512 bytes for each entry, at most as much padding, and perhaps an extra
// header with a long name.
func streamLimit(l Limits) int64 {
	perEntry := 4096 + 2*int64(min(l.NameLen, 1<<20))
	overhead := int64(min(l.Entries, 1<<30))*perEntry + maxPadding
	if l.Unpacked > 1<<62-overhead {
		return 1 << 62
	}
	return l.Unpacked + overhead
}

func (i *inflow) Read(p []byte) (int, error) {
	if i.err == nil && i.ctx.Err() != nil {
		i.err = fault.Ended(i.ctx)
	}
	if i.err != nil {
		return 0, i.err
	}
	n, err := i.read(p)
	i.left -= int64(n)
	switch {
	case i.origin.err != nil:
		i.err = i.origin.err
	case i.left < 0:
		i.err = tooLarge("the tar in it has more than the limit of its content and headers")
	case err == io.EOF:
		i.err = err
	case err != nil:
		i.err = unreadable(err)
	}
	return n, i.err
}

func (i *inflow) read(p []byte) (int, error) {
	if i.in == nil {
		in, err := i.format.decompressor(bufio.NewReaderSize(i.origin, 64<<10))
		if err != nil {
			return 0, err
		}
		i.in = in
	}
	return i.in.Read(p)
}

// drain reads what follows the end of the tar. Other data than padding could mean
// something else to another reader.
func (i *inflow) drain(buf []byte) error {
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

// unreadable is damaged for the errors of decompressors and of archive/tar, which
// all mean that the bytes make no sense.
func unreadable(err error) error {
	if d := damaged(err); d != err || isRefusal(err) {
		return d
	}
	if errors.Is(err, xz.ErrMemlimit) {
		return tooLarge("an xz dictionary of more than %d bytes", maxDictionary)
	}
	return bad("%w", err)
}
