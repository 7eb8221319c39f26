package module

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/verify/checksum"
)

// receive unpacks the archive at a location of KindHTTP, or returns the next location that it names.
func receive(ctx context.Context, src Opener, loc *Location, s *staging, meter *flight.Meter) (*unpacked, string, error) {
	if src == nil {
		return nil, "", errors.New("no source to fetch the package from")
	}
	body, err := src.OpenModule(ctx, loc)
	if err != nil {
		return nil, "", err
	}
	if body == nil || body.ReadCloser == nil {
		return nil, "", errors.New("the source returned no body")
	}
	defer body.Close()
	if loc.MayBePage() && body.Next != "" {
		return nil, body.Next, nil
	}
	return unpackBody(ctx, loc, body, s, meter)
}

// unpackBody unpacks the archive in body, or returns the next location that the page in it names.
func unpackBody(ctx context.Context, loc *Location, body *Body, s *staging, meter *flight.Meter) (*unpacked, string, error) {
	limit := s.limits.Package
	if body.Size > limit {
		return nil, "", fmt.Errorf("archive of %d bytes, %d are allowed: %w", body.Size, limit, fault.ErrTooLarge)
	}
	meter.Started(max(body.Size, 0))
	b := &bodyReader{ctx: ctx, body: body, limit: limit, meter: meter}
	algorithm, sum, stated := strings.Cut(loc.Checksum, ":")
	if stated {
		b.sum = algorithms[algorithm]()
	}
	in := bufio.NewReaderSize(b, 64<<10)
	head, err := in.Peek(archive.SniffLen)
	if err != nil && err != io.EOF {
		return nil, "", err
	}
	format := archive.Sniff(head)
	if format == "" || loc.Archive == FormatNone {
		if !loc.MayBePage() {
			return nil, "", fmt.Errorf("%w: want zip, tar.gz, tar.bz2 or tar.xz", ErrArchive)
		}
		next, err := nextInPage(in)
		if next == "" && err == nil {
			err = fmt.Errorf("%w: neither an archive nor a page that names a location", ErrArchive)
		}
		return nil, next, err
	}
	if loc.MayBePage() {
		if got, err := s.reuse(ctx, loc.Subdir); got != nil || err != nil {
			return got, "", err
		}
	}
	check := func() error {
		if !stated || hex.EncodeToString(b.sum.Sum(nil)) == sum {
			return nil
		}
		return fmt.Errorf("%w: the location states %s %s, the archive has %x", checksum.ErrMismatch, algorithm, sum, b.sum.Sum(nil))
	}
	got, err := s.unpack(ctx, func(root *os.Root, o archive.Options) ([]archive.File, error) {
		if format == archive.FormatZip {
			return unzip(ctx, in, b, check, s, root, o)
		}
		if format == archive.FormatTarXz {
			if err := s.xz.Acquire(ctx, 1); err != nil {
				return nil, err
			}
			defer s.xz.Release(1)
		}
		files, err := archive.UnpackTar(ctx, in, format, root, archive.Limits(s.limits), o)
		// For a damaged archive, a wrong checksum is the better error: read to the end.
		if err != nil && (!stated || !errors.Is(err, fault.ErrArchive)) {
			return nil, err
		}
		if _, rest := io.Copy(io.Discard, in); rest != nil {
			return nil, cmp.Or(err, rest)
		}
		return files, cmp.Or(check(), err)
	})
	if err != nil {
		return nil, "", err
	}
	got.size = b.size
	meter.Finished()
	return got, "", nil
}

// unzip stores the archive in a file of the staging directory, because the directory of a zip
// is at its end.
func unzip(ctx context.Context, in io.Reader, b *bodyReader, check func() error, s *staging, root *os.Root, o archive.Options) ([]archive.File, error) {
	f, err := os.CreateTemp(s.part.Path(), "*.zip")
	if err != nil {
		return nil, err
	}
	defer func() {
		f.Close()
		os.Remove(f.Name())
	}()
	if _, err := io.Copy(f, in); err != nil {
		return nil, err
	}
	if err := check(); err != nil {
		return nil, err
	}
	z, err := archive.OpenZipWith(ctx, f, b.size, archive.Limits(s.limits), o)
	if err != nil {
		return nil, err
	}
	return z.Unpack(ctx, root, o)
}

// bodyReader reads a body, and counts, hashes and reports its bytes. It returns io.EOF only
// after the declared size.
type bodyReader struct {
	ctx   context.Context
	body  *Body
	limit int64
	size  int64
	sum   hash.Hash // nil unless the location states a checksum
	meter *flight.Meter
}

func (b *bodyReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.body.Read(p)
	b.size += int64(n)
	if b.sum != nil {
		b.sum.Write(p[:n])
	}
	b.meter.Advanced(b.size, b.body.Resumes)
	switch {
	case b.size > b.limit:
		return n, fmt.Errorf("archive has more than %d bytes: %w", b.limit, fault.ErrTooLarge)
	case err == io.EOF && b.body.Size > 0 && b.size != b.body.Size:
		return n, fmt.Errorf("archive is %d bytes, want %d: %w", b.size, b.body.Size, io.ErrUnexpectedEOF)
	}
	return n, err
}
