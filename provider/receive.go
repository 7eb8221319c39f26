package provider

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Received is an archive that has been fetched, but not judged.
type Received struct {
	Size     int64           // bytes
	ZH       checksum.Hash   // the zh hash, computed
	Evidence verify.Evidence // what the source states

	file io.ReaderAt
}

// Judge decides whether p accepts the archive; see [verify.Policy.JudgeArchive]. The file of
// [Receive] must still be open and unchanged.
func (r *Received) Judge(ctx context.Context, p verify.Policy) (*verify.Report, error) {
	return r.judge(ctx, p, false, func(context.Context) (func(), error) { return func() {}, nil })
}

// judge is Judge. It calls enter before it computes the h1, which it always does if wantH1 is set.
func (r *Received) judge(ctx context.Context, p verify.Policy, wantH1 bool, enter func(context.Context) (leave func(), err error)) (*verify.Report, error) {
	report, err := p.JudgeArchive(ctx, r.Evidence, verify.Archive{
		Size: r.Size, ZH: r.ZH, AlwaysH1: wantH1,
		H1: func(ctx context.Context) (packed, tree checksum.Hash, err error) {
			leave, err := enter(ctx)
			if err != nil {
				return packed, tree, err
			}
			defer leave()
			return checksum.H1Zip(ctx, r.file, r.Size, p.Limits)
		},
	})
	if ctx.Err() != nil {
		return nil, fault.Ended(ctx) // the verdict may be a consequence
	}
	return report, err
}

// Receive is the first half of [Download]: it fetches the archive of pkg into f, and the
// evidence that o.Policy needs. Call [Received.Judge] before the archive is used. Receive
// overwrites f. After an error, f may contain a part of the archive.
func Receive(ctx context.Context, src Fetcher, pkg *Package, f *os.File, o Options) (*Received, error) {
	if err := pkg.fetchable(); err != nil {
		return nil, err
	}
	if err := o.Policy.JudgeOffer(pkg.Evidence(), pkg.SumsURL != "", pkg.SignatureURL != ""); err != nil {
		return nil, failed("verify", pkg, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	got := &Received{Evidence: pkg.Evidence(), file: f}
	if o.Policy.NeedsEvidence() || o.WantEvidence {
		group.Go(func() (err error) {
			got.Evidence, err = src.Evidence(ctx, pkg)
			return err
		})
	}
	t := &transfer{
		src: src, pkg: pkg, file: f,
		limit: o.Policy.Limits.Effective().Package,
		meter: newMeter(pkg, o.Progress), arrived: o.Arrived,
	}
	if t.arrived == nil {
		t.arrived = func(int64, int64) error { return nil }
	}
	var err error
	got.Size, got.ZH, err = t.run(ctx) // in this goroutine, which calls o.Progress
	group.Go(func() error { return err })
	// The first failure cancels the other request. Its error is the cause.
	if err := group.Wait(); err != nil {
		return nil, failed("fetch", pkg, err)
	}
	return got, nil
}

// transfer fetches one archive into a file.
type transfer struct {
	src   Fetcher
	pkg   *Package
	file  *os.File
	limit int64
	meter *flight.Meter

	arrived func(size, total int64) error
}

// run fetches the archive, and a second time if it changes during the transfer.
func (t *transfer) run(ctx context.Context) (size int64, zh checksum.Hash, err error) {
	size, zh, err = t.fetch(ctx)
	if errors.Is(err, ErrChanged) && ctx.Err() == nil {
		t.meter.Restarted(err)
		size, zh, err = t.fetch(ctx)
	}
	return size, zh, err
}

// fetch fetches the archive from its first byte.
func (t *transfer) fetch(ctx context.Context) (size int64, zh checksum.Hash, err error) {
	if err := t.rewind(); err != nil {
		return 0, zh, err
	}
	if err := t.plausible(t.pkg.Size); err != nil {
		return 0, zh, err
	}
	body, err := t.src.Open(ctx, t.pkg)
	if err != nil {
		return 0, zh, err
	}
	if body == nil || body.ReadCloser == nil {
		return 0, zh, errors.New("the source returned neither an archive nor an error")
	}
	defer body.Close()
	if err := t.plausible(max(body.Size, 0)); err != nil {
		return 0, zh, err
	}
	sum := sha256.New()
	size, err = t.copy(ctx, sum, body)
	return size, checksum.ZHSum([32]byte(sum.Sum(nil))), err
}

// copyBuffers are large, so that system calls and progress reports are rare.
var copyBuffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// copy writes the archive to the file and to sum.
func (t *transfer) copy(ctx context.Context, sum io.Writer, body *Body) (size int64, err error) {
	buf := copyBuffers.Get().(*[256 << 10]byte)
	defer copyBuffers.Put(buf)
	total := max(body.Size, 0)
	if err := t.arrived(0, total); err != nil {
		return 0, err
	}
	t.meter.Started(max(total, t.pkg.Size))
	for idle := 0; idle < 100; idle++ {
		n, err := body.Read(buf[:])
		if n > 0 {
			idle = 0
			size += int64(n)
			if err := t.plausible(size); err != nil {
				return size, err
			}
			if _, err := t.file.Write(buf[:n]); err != nil {
				return size, err
			}
			if err := t.arrived(size, total); err != nil {
				return size, err
			}
			sum.Write(buf[:n])
			t.meter.Advanced(size, body.Resumes)
		}
		switch {
		case err == io.EOF && body.Size > 0 && size != body.Size:
			return size, fmt.Errorf("received %d of %d bytes: %w", size, body.Size, io.ErrUnexpectedEOF)
		case err == io.EOF:
			t.meter.Finished()
			return size, nil
		case err != nil:
			return size, err
		case ctx.Err() != nil:
			return size, ctx.Err()
		}
	}
	return size, io.ErrNoProgress
}

// plausible returns an error if a declared or received size is too large.
func (t *transfer) plausible(size int64) error {
	switch {
	case size > t.limit:
		return fmt.Errorf("more than %d bytes: %w", t.limit, fault.ErrTooLarge)
	case t.pkg.Size > 0 && size > t.pkg.Size:
		return &checksum.SizeError{Filename: t.pkg.Filename, Want: t.pkg.Size, Got: size}
	}
	return nil
}

func (t *transfer) rewind() error {
	if _, err := t.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return t.file.Truncate(0)
}
