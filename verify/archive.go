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

// Archive describes a zip archive that is to be judged.
type Archive struct {
	Size int64         // in bytes
	ZH   checksum.Hash // of exactly these bytes

	// H1 computes both h1 hashes of the archive, as [checksum.H1Zip] does. It reads the
	// whole content, so JudgeArchive calls it at most once and only if the ZH does not
	// refute the archive. It must be set.
	H1 func(ctx context.Context) (packed, tree checksum.Hash, err error)

	// WantH1 has the h1 hashes computed also if the policy does not need them.
	WantH1 bool
}

// JudgeArchive decides whether p accepts an archive, and returns how far the archive is to
// be trusted. The caller must use exactly the bytes that were hashed: neither a file that
// other users can write, nor a second download.
//
// The chain that it closes is: signature of the SHA256SUMS document; its line for
// ev.Filename; the zh of the bytes; the hashes that the source states. With
// [Policy.Accept] the chain is: accepted hash, hash of the bytes.
//
// The error is that of a.H1, a [*checksum.MismatchError], a [*checksum.SizeError], a
// [*SumsError] or one of the variables of this package. After an error the archive must
// not be used.
func (p Policy) JudgeArchive(ctx context.Context, ev Evidence, a Archive) (*Report, error) {
	return p.judgeArchive(ctx, ev, a, sync.OnceValues(func() (CheckedSums, error) { return p.CheckSums(ev) }))
}

func (p Policy) judgeArchive(ctx context.Context, ev Evidence, a Archive, sums func() (CheckedSums, error)) (*Report, error) {
	local := []checksum.Hash{a.ZH}
	needsH1 := p.needsH1(ev, a.ZH)
	// To inflate what the zh refutes is neither worth the time nor safe.
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

// needsH1 reports whether p needs an h1 of the archive with this zh to decide on ev.
func (p Policy) needsH1(ev Evidence, zh checksum.Hash) bool {
	switch {
	case p.Accept != nil:
		return checksum.HasScheme(p.Accept, checksum.SchemeH1) && !slices.Contains(p.Accept, zh)
	case len(ev.Sums) > 0, !p.allowsUnsigned(ev):
		return false // SHA256SUMS has a zh, and without it the package is refused
	}
	return checksum.HasScheme(ev.Hashes, checksum.SchemeH1) && !checksum.HasScheme(ev.Hashes, checksum.SchemeZH)
}

// Check is [Policy.JudgeArchive] for the zip archive in the first size bytes of zip: it
// computes the zh, and an h1 only if p needs one.
//
// The errors are those of JudgeArchive, of [checksum.H1Zip] and of zip,
// [checksum.ErrTooLarge] for an archive above Limits.Package, and that of ctx if ctx ends
// before all hashes are computed.
func (p Policy) Check(ctx context.Context, ev Evidence, zip io.ReaderAt, size int64) (*Report, error) {
	if limit := p.Limits.Effective().Package; size > limit {
		return nil, fmt.Errorf("package %w: %d bytes, %d are allowed", checksum.ErrTooLarge, size, limit)
	}
	sums, wait := p.startSums(ev)
	defer wait()
	r := io.NewSectionReader(zip, 0, size)
	computed, err := checksum.ZH(ctx, r)
	if n, _ := r.Seek(0, io.SeekCurrent); err == nil && n != size {
		err = fmt.Errorf("%d bytes of %d: %w", n, size, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the package: %w", err)
	}
	h1 := func(ctx context.Context) (packed, tree checksum.Hash, err error) {
		return checksum.H1Zip(ctx, zip, size, p.Limits)
	}
	return p.judgeArchive(ctx, ev, Archive{Size: size, ZH: computed, H1: h1}, sums)
}

// startSums checks the sums while the package is read. The caller must wait.
func (p Policy) startSums(ev Evidence) (sums func() (CheckedSums, error), wait func()) {
	at := p.now() // the caller's code must not run, or panic, in another goroutine
	p.Now = func() time.Time { return at }
	sums = sync.OnceValues(func() (CheckedSums, error) { return p.CheckSums(ev) })
	var wg sync.WaitGroup
	wg.Go(func() { sums() })
	return sums, wg.Wait
}
