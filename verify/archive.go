package verify

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tofureg/tofureg/verify/checksum"
)

// Archive describes a zip archive for [Policy.JudgeArchive].
type Archive struct {
	Size int64         // in bytes
	ZH   checksum.Hash // of the bytes that the caller will use

	// H1 computes both h1 hashes, like [checksum.H1Zip]. It must not be nil, and is called at
	// most once.
	H1 func(ctx context.Context) (packed, tree checksum.Hash, err error)

	WantH1 bool // compute the h1 hashes even if the policy does not need them
}

// JudgeArchive decides whether p accepts a. The caller must use exactly the bytes that were
// hashed, and not a file that other users can write.
//
// The error is the error of a.H1, a [*checksum.MismatchError], a [*checksum.SizeError], a
// [*SumsError], or it wraps a variable of this package.
func (p Policy) JudgeArchive(ctx context.Context, ev Evidence, a Archive) (*Report, error) {
	return p.judgeArchive(ctx, ev, a, sync.OnceValues(func() (CheckedSums, error) { return p.CheckSums(ev) }))
}

func (p Policy) judgeArchive(ctx context.Context, ev Evidence, a Archive, sums func() (CheckedSums, error)) (*Report, error) {
	local := []checksum.Hash{a.ZH}
	needsH1 := p.needsH1(ev, a.ZH)
	// An archive that the zh refutes is not inflated: that costs time and is not safe.
	report, err := p.judge(ev, a.Size, local, sums, needsH1)
	if err != nil || !needsH1 && !a.WantH1 {
		return report, err
	}
	packed, tree, err := a.H1(ctx)
	if err != nil {
		return nil, err
	}
	return p.judge(ev, a.Size, append(local, packed, tree), sums, false)
}

// needsH1 reports whether p needs an h1 of the archive with this zh.
func (p Policy) needsH1(ev Evidence, zh checksum.Hash) bool {
	switch {
	case p.Accept != nil:
		return checksum.HasScheme(p.Accept, checksum.SchemeH1) && !slices.Contains(p.Accept, zh)
	case len(ev.Sums) > 0, !p.allowsUnsigned(ev):
		return false // SHA256SUMS has a zh, and without it the package is refused
	}
	return checksum.HasScheme(ev.Hashes, checksum.SchemeH1) && !checksum.HasScheme(ev.Hashes, checksum.SchemeZH)
}

// Check calls [Policy.JudgeArchive] for the zip archive in the first size bytes of zip. To
// compare it with known hashes only, set Accept and pass the zero Evidence.
//
// It also returns errors of zip, [checksum.H1Zip] and ctx, and [checksum.ErrTooLarge] for an
// archive larger than Limits.Package.
func (p Policy) Check(ctx context.Context, ev Evidence, zip io.ReaderAt, size int64) (*Report, error) {
	if limit := p.Limits.Effective().Package; size > limit {
		return nil, fmt.Errorf("package %q %w: %d bytes, %d are allowed", ev.Filename, checksum.ErrTooLarge, size, limit)
	}
	sums, wait := p.startSums(ev)
	defer wait()
	r := io.NewSectionReader(zip, 0, size)
	computed, err := checksum.ZH(ctx, r)
	if n, _ := r.Seek(0, io.SeekCurrent); err == nil && n != size {
		err = fmt.Errorf("%d bytes of %d: %w", n, size, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, fmt.Errorf("reading package %q: %w", ev.Filename, err)
	}
	h1 := func(ctx context.Context) (packed, tree checksum.Hash, err error) {
		return checksum.H1Zip(ctx, zip, size, p.Limits)
	}
	return p.judgeArchive(ctx, ev, Archive{Size: size, ZH: computed, H1: h1}, sums)
}

// startSums checks the sums while the package is read. The caller must call wait.
func (p Policy) startSums(ev Evidence) (sums func() (CheckedSums, error), wait func()) {
	at := p.now() // p.Now must not run, or panic, in another goroutine
	p.Now = func() time.Time { return at }
	sums = sync.OnceValues(func() (CheckedSums, error) { return p.CheckSums(ev) })
	var wg sync.WaitGroup
	wg.Go(func() { sums() })
	return sums, wg.Wait
}
