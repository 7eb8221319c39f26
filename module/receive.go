package module

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
)

// receiveTwice receives a package, and starts again once if it changes during the transfer.
func (j *job) receiveTwice(ctx context.Context, loc *Location) (*unpacked, string, error) {
	got, next, err := j.receive(ctx, loc)
	if errors.Is(err, fault.ErrChanged) && ctx.Err() == nil {
		j.meter.Restarted(err)
		got, next, err = j.receive(ctx, loc)
	}
	return got, next, err
}

func (j *job) receive(ctx context.Context, loc *Location) (*unpacked, string, error) {
	if j.src == nil {
		return nil, "", errors.New("no source to fetch the package from")
	}
	body, err := j.src.OpenModule(ctx, loc)
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
	return j.unpackBody(ctx, loc, body)
}

// bodyReader reads a body, and counts, hashes and reports its bytes. It returns io.EOF only
// after the declared size.
type bodyReader struct {
	ctx   context.Context
	body  *Body
	limit int64
	size  int64
	sum   checksummer
	meter *flight.Meter
}

func (b *bodyReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.body.Read(p)
	b.size += int64(n)
	b.sum.write(p[:n])
	b.meter.Advanced(b.size, b.body.Resumes)
	switch {
	case b.size > b.limit:
		return n, fmt.Errorf("archive has more than %d bytes: %w", b.limit, fault.ErrTooLarge)
	case err == io.EOF && b.body.Size > 0 && b.size != b.body.Size:
		return n, fmt.Errorf("archive is %d bytes, want %d: %w", b.size, b.body.Size, io.ErrUnexpectedEOF)
	}
	return n, err
}

// unpackBody unpacks the body, or returns the next location that it names.
func (j *job) unpackBody(ctx context.Context, loc *Location, body *Body) (*unpacked, string, error) {
	if body.Size > j.limits.Package {
		return nil, "", fmt.Errorf("archive is %d bytes, limit %d: %w", body.Size, j.limits.Package, fault.ErrTooLarge)
	}
	j.meter.Started(max(body.Size, 0))
	b := &bodyReader{ctx: ctx, body: body, limit: j.limits.Package, sum: newChecksummer(loc.Checksum), meter: j.meter}
	in := bufio.NewReaderSize(b, 64<<10)
	head, err := in.Peek(archive.SniffLen)
	if err != nil && err != io.EOF {
		return nil, "", err
	}
	format := archive.Sniff(head)
	if format == "" || loc.Archive == FormatNone {
		next, err := j.nextInPage(loc, in)
		return nil, next, err
	}
	if got, err := j.reuse(ctx, loc); got != nil || err != nil {
		return got, "", err
	}
	got, err := j.unpack(ctx, func(root *os.Root) ([]archive.File, error) {
		if format == archive.FormatZip {
			return j.unzip(ctx, in, b, root)
		}
		return j.untar(ctx, in, b, format, root)
	})
	if err != nil {
		return nil, "", err
	}
	j.report.Size = b.size
	j.meter.Finished()
	return got, "", nil
}

// nextInPage returns the next location that a page names.
func (j *job) nextInPage(loc *Location, in io.Reader) (string, error) {
	if loc.MayBePage() {
		next, err := ParseMeta(in)
		if err != nil || next != "" {
			return next, err
		}
		return "", fmt.Errorf("%w: neither an archive nor a page that names a location", ErrArchive)
	}
	return "", fmt.Errorf("%w: want zip, tar.gz, tar.bz2 or tar.xz", ErrArchive)
}

// unzip stores the archive in a file of the staging directory, because the directory of a zip
// is at its end.
func (j *job) unzip(ctx context.Context, in io.Reader, b *bodyReader, root *os.Root) (files []archive.File, err error) {
	f, err := os.CreateTemp(j.staging.dir, "*.zip")
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
	if err := b.sum.check(); err != nil {
		return nil, err
	}
	z, err := archive.OpenZipWith(ctx, f, b.size, archive.Limits(j.limits), j.archiveOptions())
	if err != nil {
		return nil, err
	}
	return z.Unpack(ctx, root, archive.Options{})
}

// untar unpacks the archive while it arrives.
func (j *job) untar(ctx context.Context, in *bufio.Reader, b *bodyReader, f archive.Format, root *os.Root) ([]archive.File, error) {
	if f == archive.FormatTarXz {
		if err := j.xz.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		defer j.xz.Release(1)
	}
	files, err := archive.UnpackTar(ctx, in, f, root, archive.Limits(j.limits), j.archiveOptions())
	// For a damaged archive, a wrong checksum is the better error: read to the end.
	if err != nil && (b.sum.Hash == nil || !errors.Is(err, fault.ErrArchive)) {
		return nil, err
	}
	if _, rest := io.Copy(io.Discard, in); rest != nil {
		return nil, cmp.Or(err, rest)
	}
	if sum := b.sum.check(); sum != nil {
		return nil, sum
	}
	return files, err
}
