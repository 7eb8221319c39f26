package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// DownloadOptions are the options of [Download].
type DownloadOptions struct {
	Policy verify.Policy // judges the archive; its Limits bound the transfer too

	Progress func(progress.Event) // if not nil, called for each step; calls of one Download never overlap
}

// Download fetches the archive of pkg, verifies it by o.Policy and stores it at path, in an existing directory. It
// replaces a file or symbolic link, and refuses a directory, device or pipe. On failure, path is unchanged. The content
// of the archive is not checked.
//
// The archive arrives in a file .tofureg-* beside path. When Download returns, this file is gone and nothing runs. The
// next Download to path removes up to eight files of killed processes.
//
// The error wraps an error of a [verify.Examination], [failure.ErrTooLarge] beyond o.Policy.Limits, or ErrUnpacked.
func Download(ctx context.Context, src Opener, pkg *Package, path string, o DownloadOptions) (*verify.Report, error) {
	if err := pkg.fetchable(); err != nil {
		return nil, err
	}
	f, err := fsx.CreatePart(path, 0o644)
	if err != nil {
		return nil, failure.Wrap("store", pkg.String(), err)
	}
	defer f.Discard()
	got, err := Receive(ctx, src, pkg, f, ReceiveOptions{Policy: o.Policy, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	report, err := got.Judge(ctx, o.Policy, f, false)
	if err != nil {
		return nil, failure.Wrap("verify", pkg.String(), err)
	}
	if err := f.Commit(); err != nil {
		return nil, failure.Wrap("store", pkg.String(), err)
	}
	m := pkg.meter(o.Progress)
	m.Bytes, m.Total = got.Size, got.Size
	m.Send(progress.Verified, nil)
	return report, nil
}

// ReceiveOptions are the options of [Receive].
type ReceiveOptions struct {
	Policy verify.Policy // as in [DownloadOptions]

	FetchEvidence bool // also if Policy does not need the evidence

	Progress func(progress.Event) // as in [DownloadOptions]

	// Arrived, if not nil, gets the size of the file: 0 at each start, then after each write. total is the declared
	// size, or 0. An error ends the transfer.
	Arrived func(size, total int64) error
}

// Received is a fetched archive, not yet judged.
type Received struct {
	checksum.Digests                 // computed
	Evidence         verify.Evidence // with Sums and Signature if they were fetched
}

// FileWriter is a file for [Receive], such as an [os.File].
type FileWriter interface {
	// WriteAt is called in order, without gaps.
	io.WriterAt

	// Truncate is called with 0 each time a transfer starts.
	Truncate(size int64) error
}

// Receive fetches the archive of pkg into f, and the evidence that o.Policy needs. [Received.Judge] is the second half of
// a [Download]. Errors are as of Download; f may then have a part of the archive.
func Receive(ctx context.Context, src Opener, pkg *Package, f FileWriter, o ReceiveOptions) (*Received, error) {
	if err := pkg.fetchable(); err != nil {
		return nil, err
	}
	if err := o.Policy.JudgeOffer(ctx, pkg.Evidence(), pkg.SumsURL != "", pkg.SignatureURL != ""); err != nil {
		return nil, failure.Wrap("verify", pkg.String(), err)
	}
	if o.Arrived == nil {
		o.Arrived = func(int64, int64) error { return nil }
	}
	group, ctx := errgroup.WithContext(ctx)
	got := &Received{Evidence: pkg.Evidence()}
	if o.Policy.NeedsEvidence() || o.FetchEvidence {
		group.Go(func() (err error) {
			got.Evidence, err = src.Evidence(ctx, pkg)
			return err
		})
	}
	// In this goroutine, which calls o.Progress.
	meter := pkg.meter(o.Progress)
	var err error
	got.Digests, err = fetch(ctx, src, pkg, f, o, meter)
	if errors.Is(err, failure.ErrChanged) && ctx.Err() == nil {
		meter.Restart(err)
		got.Digests, err = fetch(ctx, src, pkg, f, o, meter)
	}
	group.Go(func() error { return err })
	// The first failure cancels the other request. Its error is the cause.
	if err := group.Wait(); err != nil {
		return nil, failure.Wrap("fetch", pkg.String(), err)
	}
	return got, nil
}

// copyBuffers are large, so that system calls and progress reports are rare.
var copyBuffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// fetch fetches the archive from its first byte into f.
func fetch(ctx context.Context, src Opener, pkg *Package, f FileWriter, o ReceiveOptions, meter *progress.Meter) (d checksum.Digests, err error) {
	limit := o.Policy.Limits.Effective().Package
	check := func(size int64) error { // declared or received
		switch {
		case size > limit:
			return fmt.Errorf("more than %d bytes: %w", limit, failure.ErrTooLarge)
		case pkg.Size > 0 && size > pkg.Size:
			return fmt.Errorf("%w: archive is %d bytes, want %d", checksum.ErrMismatch, size, pkg.Size)
		}
		return nil
	}
	if err := f.Truncate(0); err != nil {
		return d, err
	}
	if err := check(pkg.Size); err != nil {
		return d, err
	}
	body, err := checked{Opener: src}.Open(ctx, pkg)
	if err != nil {
		return d, err
	}
	defer body.Close()
	total := max(body.Size, 0)
	if err := check(total); err != nil {
		return d, err
	}
	if err := o.Arrived(0, total); err != nil {
		return d, err
	}
	meter.Start(max(total, pkg.Size))
	buf := copyBuffers.Get().(*[256 << 10]byte)
	defer copyBuffers.Put(buf)
	var sum checksum.Digester
	var size int64
	for idle := 0; idle < 100; idle++ {
		n, err := body.Read(buf[:])
		if n > 0 {
			idle = 0
			if err := check(size + int64(n)); err != nil {
				return d, err
			}
			if _, err := f.WriteAt(buf[:n], size); err != nil {
				return d, err
			}
			size += int64(n)
			if err := o.Arrived(size, total); err != nil {
				return d, err
			}
			sum.Write(buf[:n])
			meter.Advance(size, body.Resumes)
		}
		switch {
		case err == io.EOF && total > 0 && size != total:
			return d, fmt.Errorf("received %d of %d bytes: %w", size, total, io.ErrUnexpectedEOF)
		case err == io.EOF:
			meter.Finish()
			return sum.Digests(), nil
		case err != nil:
			return d, err
		case ctx.Err() != nil:
			return d, ctx.Err()
		}
	}
	return d, io.ErrNoProgress
}

// Judge applies p, the policy in [ReceiveOptions]. It reads file, which must hold what Receive wrote, if p needs the h1
// or alwaysH1 is set. The error is of a [verify.Examination] or ctx, not an [*failure.Error].
func (r *Received) Judge(ctx context.Context, p verify.Policy, file io.ReaderAt, alwaysH1 bool) (*verify.Report, error) {
	x := p.Examine(r.Evidence)
	needsH1, err := x.Archive(ctx, r.Digests)
	if err == nil && (needsH1 || alwaysH1) {
		var packed, tree checksum.Hash
		if packed, tree, err = checksum.H1Zip(ctx, file, r.Size, p.Limits); err == nil {
			err = x.H1(ctx, packed, tree)
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, fault.Ended(ctx) // the verdict may be a consequence
	case err != nil:
		return nil, err
	}
	return x.Report()
}

// fetchable returns an error if p has no archive.
func (p *Package) fetchable() error {
	switch {
	case p == nil:
		return &failure.Error{Op: "fetch", Err: errors.New("the package is nil")}
	case p.Provider.IsZero() || p.Version.IsZero() || p.Platform.IsZero():
		return failure.Wrap("fetch", p.String(), errors.New("provider, version or platform is missing"))
	case p.Dir != "":
		return failure.Wrap("fetch", p.String(), ErrUnpacked)
	}
	return nil
}

// meter returns a meter that reports events about pkg.
func (p *Package) meter(report func(progress.Event)) *progress.Meter {
	return &progress.Meter{Event: progress.Event{Provider: p.Provider, Version: p.Version, Platform: p.Platform}, Report: report}
}
