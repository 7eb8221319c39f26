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

// receiveTwice receives an archive, once more if it changes on the way.
func (j *job) receiveTwice(ctx context.Context, loc *Location) (*pack, string, error) {
	got, next, err := j.receive(ctx, loc)
	if errors.Is(err, fault.ErrChanged) && ctx.Err() == nil {
		j.meter.Restarted(err)
		got, next, err = j.receive(ctx, loc)
	}
	return got, next, err
}

func (j *job) receive(ctx context.Context, loc *Location) (*pack, string, error) {
	if j.src == nil {
		return nil, "", errors.New("there is no source to fetch it from")
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
	return j.arrive(ctx, loc, body)
}

// An arrival is the body that is arriving. It counts, hashes and reports its bytes,
// and ends only where the transfer said it would.
type arrival struct {
	ctx   context.Context
	body  *Body
	limit int64
	size  int64
	sum   summer
	meter *flight.Meter
}

func (a *arrival) Read(p []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := a.body.Read(p)
	a.size += int64(n)
	a.sum.write(p[:n])
	a.meter.Advanced(a.size, a.body.Resumes)
	switch {
	case a.size > a.limit:
		return n, fmt.Errorf("more than %d bytes: %w", a.limit, ErrTooLarge)
	case err == io.EOF && a.body.Size > 0 && a.size != a.body.Size:
		return n, fmt.Errorf("%d bytes arrived of %d: %w", a.size, a.body.Size, io.ErrUnexpectedEOF)
	}
	return n, err
}

// arrive unpacks the body, or finds the next location in it.
func (j *job) arrive(ctx context.Context, loc *Location, body *Body) (*pack, string, error) {
	if body.Size > j.limits.Package {
		return nil, "", fmt.Errorf("%d bytes, %d are allowed: %w", body.Size, j.limits.Package, ErrTooLarge)
	}
	j.meter.Started(max(body.Size, 0))
	a := &arrival{ctx: ctx, body: body, limit: j.limits.Package, sum: newSummer(loc.Checksum), meter: j.meter}
	in := bufio.NewReaderSize(a, 64<<10)
	head, err := in.Peek(archive.SniffLen)
	if err != nil && err != io.EOF {
		return nil, "", err
	}
	format := archive.Sniff(head)
	if format == "" || loc.Archive == FormatNone {
		next, err := j.page(loc, in)
		return nil, next, err
	}
	if got, err := j.reuse(loc); got != nil || err != nil {
		return got, "", err
	}
	got, err := j.fill(func(root *os.Root) ([]archive.File, error) {
		if format == archive.FormatZip {
			return j.unzip(ctx, in, a, root)
		}
		return j.untar(ctx, in, a, format, root)
	})
	if err != nil {
		return nil, "", err
	}
	j.report.Size = a.size
	j.meter.Finished()
	return got, "", nil
}

// page finds the next location in what is no archive.
func (j *job) page(loc *Location, in io.Reader) (string, error) {
	if loc.MayBePage() {
		next, err := ParseMeta(in)
		if err != nil || next != "" {
			return next, err
		}
		return "", fmt.Errorf("%w: neither an archive nor a page that names a location", ErrArchive)
	}
	return "", fmt.Errorf("%w: neither zip nor tar.gz, tar.bz2 or tar.xz", ErrArchive)
}

// unzip stores the archive in a private file first: the directory of a zip is at its
// end.
func (j *job) unzip(ctx context.Context, in io.Reader, a *arrival, root *os.Root) (files []archive.File, err error) {
	f, err := os.CreateTemp(j.stage.dir, "*.zip")
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
	if err := a.sum.check(); err != nil {
		return nil, err
	}
	z, err := archive.OpenZipSkip(ctx, f, a.size, archive.Limits(j.limits), j.skipper())
	if err != nil {
		return nil, err
	}
	return z.Unpack(ctx, root, archive.Options{})
}

// untar unpacks while the archive arrives.
func (j *job) untar(ctx context.Context, in *bufio.Reader, a *arrival, f archive.Format, root *os.Root) ([]archive.File, error) {
	files, err := archive.UnpackTar(ctx, in, f, root, archive.Limits(j.limits), archive.Options{Skip: j.skipper()})
	// A checksum is about all bytes, and tells more than that they make no sense.
	if err != nil && (a.sum.Hash == nil || !errors.Is(err, fault.ErrArchive)) {
		return nil, err
	}
	if _, rest := io.Copy(io.Discard, in); rest != nil {
		return nil, cmp.Or(err, rest)
	}
	if sum := a.sum.check(); sum != nil {
		return nil, sum
	}
	return files, err
}
