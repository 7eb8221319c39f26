package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/verify/checksum"
)

// JudgeOffer returns the error of an [Examination] if p refuses every archive with this evidence, so that no
// download is needed. sums and signature say whether the source has these documents; those in ev are ignored.
func (p Policy) JudgeOffer(ctx context.Context, ev Evidence, sums, signature bool) error {
	if err := p.check(); err != nil {
		return err
	}
	ev.Sums, ev.Signature = nil, nil
	if err := p.built(ctx, &Report{}, ev, ev.Hashes); err != nil && (len(ev.Attestations) == 0 || !errors.Is(err, ErrNotStated)) {
		return err
	}
	if err := p.acceptOffer(ev); err != nil || !p.checksSums() {
		return err
	}
	// The content of the documents does not matter here, only whether they exist.
	if sums {
		ev.Sums = []byte{}
	}
	if signature {
		ev.Signature = []byte{}
	}
	if missing := p.missing(ev); missing != "" {
		if err := p.unsigned(ev, missing); err != nil {
			return err
		}
	}
	switch {
	case sums && !p.SameRelease.IsZero() && !checksum.HasScheme(p.SameRelease.Hashes(), checksum.SchemeZH):
		return ErrOtherRelease
	case sums:
		return ev.checkFilename(p.AllowAnyName)
	}
	if !p.Accept.IsZero() || slices.ContainsFunc(ev.Hashes, checksum.Hash.Known) {
		return nil
	}
	return p.unchecked(ev)
}

// An Examination judges a zip archive as its hashes become known: [Policy.Examine] begins it, Archive gets
// size and zh, H1 the h1 if it is needed. It must not be used concurrently.
//
// The first error is final: all later calls return it. It wraps a [*checksum.MismatchError],
// [checksum.ErrMismatch] for the size, a variable of this package, or
// [github.com/tofureg/tofureg/failure.ErrTooLarge]. For an invalid SHA256SUMS it wraps none.
type Examination struct {
	policy Policy
	ev     Evidence
	sums   func() (CheckedSums, error)

	size    int64
	local   []checksum.Hash
	needsH1 bool // to decide
	report  *Report
	err     error
}

// Examine begins to judge an archive.
func (p Policy) Examine(ev Evidence) *Examination {
	return &Examination{policy: p, ev: ev, sums: sync.OnceValues(func() (CheckedSums, error) { return p.CheckSums(ev) })}
}

// Archive judges by the size in bytes and the zh. No other user must be able to change the bytes after they
// were hashed. After an error, the caller must not inflate the archive. needsH1 reports whether the policy
// decides by the h1.
func (x *Examination) Archive(ctx context.Context, size int64, zh checksum.Hash) (needsH1 bool, err error) {
	if x.err != nil {
		return false, x.err
	}
	x.size, x.local = size, []checksum.Hash{zh}
	x.needsH1 = x.policy.needsH1(x.ev, zh)
	x.report, x.err = x.policy.judge(ctx, x.ev, size, x.local, x.sums, x.needsH1)
	return x.needsH1, x.err
}

// H1 judges by both h1 hashes of the archive, which [checksum.H1Zip] returns, and adds them to [Report.Local].
// It may be called if they are not needed. It must follow Archive.
func (x *Examination) H1(ctx context.Context, packed, tree checksum.Hash) error {
	x.needsH1 = false
	if _, err := x.Report(); err != nil {
		return err
	}
	x.report, x.err = x.policy.judge(ctx, x.ev, x.size, append(x.local, packed, tree), x.sums, false)
	return x.err
}

// Report returns the report on an accepted archive. Without Archive, or an h1 that is needed, the error wraps
// [ErrUnchecked].
func (x *Examination) Report() (*Report, error) {
	switch {
	case x.err != nil:
		return nil, x.err
	case x.report == nil:
		return nil, fmt.Errorf("%w: the zh of the archive is not known", ErrUnchecked)
	case x.needsH1:
		return nil, fmt.Errorf("%w: the policy decides by the h1 of the archive, and only its zh is known", ErrUnchecked)
	}
	return x.report, nil
}

// needsH1 reports whether p needs an h1 of the archive with this zh.
func (p Policy) needsH1(ev Evidence, zh checksum.Hash) bool {
	switch {
	case !p.Accept.IsZero():
		accept := p.Accept.Hashes()
		return checksum.HasScheme(accept, checksum.SchemeH1) && !slices.Contains(accept, zh)
	case len(ev.Sums) > 0, !p.allowsUnsigned(ev):
		return false // SHA256SUMS has a zh, and without it the package is refused
	}
	return checksum.HasScheme(ev.Hashes, checksum.SchemeH1) && !checksum.HasScheme(ev.Hashes, checksum.SchemeZH)
}

// Check examines the zip archive in the first size bytes of zip. To compare it with known hashes only,
// set Accept and pass the zero Evidence.
//
// The error is that of an [Examination], zip, [checksum.H1Zip] or ctx.
func (p Policy) Check(ctx context.Context, ev Evidence, zip io.ReaderAt, size int64) (*Report, error) {
	if limit := p.Limits.Effective().Package; size > limit {
		return nil, fmt.Errorf("package %q %w: %d bytes, %d are allowed", ev.Filename, failure.ErrTooLarge, size, limit)
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
	x := &Examination{policy: p, ev: ev, sums: sums}
	needsH1, err := x.Archive(ctx, size, computed)
	if err == nil && needsH1 {
		var packed, tree checksum.Hash
		if packed, tree, err = checksum.H1Zip(ctx, zip, size, p.Limits); err == nil {
			err = x.H1(ctx, packed, tree)
		}
	}
	if err != nil {
		return nil, err
	}
	return x.Report()
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

// Judge decides about a package by its computed hashes, local. size is in bytes, or negative for a
// directory. A directory has no zh: Accept, or a stated h1 with AllowUnsigned, can accept it, but not
// where SHA256SUMS is checked. For errors, see [Examination].
func (p Policy) Judge(ctx context.Context, ev Evidence, size int64, local []checksum.Hash) (*Report, error) {
	return p.judge(ctx, ev, size, local, func() (CheckedSums, error) { return p.CheckSums(ev) }, false)
}

// judge compares ev with the hashes in local. If more hashes will be computed, it returns only
// errors that these hashes prove.
func (p Policy) judge(ctx context.Context, ev Evidence, size int64, local []checksum.Hash, sums func() (CheckedSums, error), more bool) (*Report, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if ev.Size > 0 && size >= 0 && ev.Size != size {
		return nil, fmt.Errorf("%w: archive %.200q is %d bytes, want %d", checksum.ErrMismatch, ev.Filename, size, ev.Size)
	}
	r := &Report{Local: checksum.Sorted(local)}
	// One hash of each scheme must match: an archive has two h1 hashes, and either may be stated.
	for _, scheme := range []string{checksum.SchemeZH, checksum.SchemeH1} {
		want, got := checksum.WithScheme(ev.Hashes, scheme), checksum.WithScheme(r.Local, scheme)
		switch {
		case len(want) == 0 || len(got) == 0:
		case !checksum.Overlap(want, got):
			return nil, &checksum.MismatchError{Filename: ev.Filename, Source: "hashes stated by the source", Want: want, Got: got}
		default:
			r.Trust = Checked
		}
	}
	if !p.Accept.IsZero() && !more {
		if err := p.accept(ev, local); err != nil {
			return nil, err
		}
		r.Trust = Accepted
	}
	if err := p.built(ctx, r, ev, r.Local); err != nil {
		return nil, err
	}
	if !p.checksSums() {
		return r, nil
	}
	checked, err := sums()
	if err != nil {
		return nil, err
	}
	if checked.doc != nil {
		zh := checksum.WithScheme(r.Local, checksum.SchemeZH)
		if err := checked.compare(r, ev, zh); err != nil {
			return nil, err
		}
		if len(zh) == 0 {
			return nil, fmt.Errorf("%w: SHA256SUMS has a zh of the package, but only its h1 is known", ErrUnchecked)
		}
	}
	r.Stated = checked.recordable(ev, local)
	if r.Trust == Unchecked && !more {
		if err := p.unchecked(ev); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (p Policy) accept(ev Evidence, local []checksum.Hash) error {
	accept := p.Accept.Hashes()
	if checksum.Overlap(accept, local) {
		return nil
	}
	mismatch := &checksum.MismatchError{Filename: ev.Filename, Source: "accepted hashes", Want: accept, Got: local}
	return fmt.Errorf("%w: %w", ErrNotAccepted, mismatch)
}

// acceptOffer returns an error if no archive has a hash in Accept and the zh that the source states.
func (p Policy) acceptOffer(ev Evidence) error {
	accept := p.Accept.Hashes()
	if p.Accept.IsZero() || checksum.HasScheme(accept, checksum.SchemeH1) {
		return nil
	}
	zh := checksum.WithScheme(ev.Hashes, checksum.SchemeZH)
	noneKnown := !slices.ContainsFunc(accept, checksum.Hash.Known)
	if err := p.accept(ev, zh); err != nil && (noneKnown || len(zh) > 0) {
		return fmt.Errorf("hashes stated by the source: %w", err)
	}
	return nil
}

// unchecked returns the error for a package without a hash to compare, or nil if p accepts it.
func (p Policy) unchecked(ev Evidence) error {
	why := "the source states none"
	switch {
	case slices.ContainsFunc(ev.Hashes, checksum.Hash.Known):
		why = "the source states one of another scheme than was computed"
	case slices.ContainsFunc(ev.Hashes, func(h checksum.Hash) bool { return !h.IsZero() }):
		return fmt.Errorf("%w: the source states only hashes of unknown schemes", ErrUnchecked)
	case ev.OthersStated:
		return fmt.Errorf("%w: the source states hashes for other platforms, but none for this one", ErrUnchecked)
	}
	if p.AllowUnchecked {
		return nil
	}
	return fmt.Errorf("%w: %s; set Policy.AllowUnchecked to accept the package", ErrUnchecked, why)
}

// CheckedSums is a SHA256SUMS document with the policy that checked it. The zero value has no
// document and the zero policy.
type CheckedSums struct {
	policy Policy
	doc    *Sums
	by     *Signature
}

// Sums returns the document, or nil.
func (c CheckedSums) Sums() *Sums { return c.doc }

// SignedBy returns the verified signature, or nil.
func (c CheckedSums) SignedBy() *Signature { return c.by }

// CheckSums parses SHA256SUMS and verifies its signature, once for all platforms of a version. It does not
// check the version: set Evidence.Requested for [CheckedSums.JudgeStated].
//
// The result has no document or signature if p needs none ([Policy.NeedsEvidence]), or accepts that they
// are missing.
func (p Policy) CheckSums(ev Evidence) (CheckedSums, error) {
	if err := p.check(); err != nil {
		return CheckedSums{}, err
	}
	if !p.checksSums() {
		return CheckedSums{policy: p}, nil
	}
	switch {
	case ev.Sums != nil && len(ev.Sums) == 0:
		return CheckedSums{}, fmt.Errorf("SHA256SUMS: %w", ErrEmpty)
	case ev.Signature != nil && len(ev.Signature) == 0:
		return CheckedSums{}, fmt.Errorf("signature of SHA256SUMS: %w", ErrEmpty)
	}
	var by *Signature
	if missing := p.missing(ev); missing != "" {
		if err := p.unsigned(ev, missing); err != nil {
			return CheckedSums{}, err
		}
	} else {
		pins, err := p.pins()
		if err != nil {
			return CheckedSums{}, err
		}
		check := signatureCheck{
			at: p.now(), all: p.Keys.rule, pins: pins, allowExpired: p.AllowExpired && !p.RequireCurrent, requireCurrent: p.RequireCurrent, allowWeak: p.AllowWeak,
		}
		if by, err = check.run(ev.Sums, ev.Signature, p.keys(ev)); err != nil {
			return CheckedSums{}, err
		}
		by.Pinned = p.pinned()
	}
	if ev.Sums == nil {
		return CheckedSums{policy: p}, nil
	}
	doc, err := ParseSums(ev.Sums)
	if err != nil {
		return CheckedSums{}, err
	}
	if !p.SameRelease.IsZero() && !checksum.Overlap(p.SameRelease.Hashes(), doc.listed()) {
		return CheckedSums{}, ErrOtherRelease
	}
	return CheckedSums{p, doc, by}, nil
}

// keys returns the keys that may sign.
func (p Policy) keys(ev Evidence) []Key {
	if p.Keys.rule {
		return p.Keys.keys
	}
	return ev.Keys
}

// missing returns what is missing for a signature, or "".
func (p Policy) missing(ev Evidence) string {
	switch {
	case ev.Sums == nil:
		return "the source has no SHA256SUMS document"
	case ev.Signature == nil:
		return "the source has no signature of SHA256SUMS"
	case p.Keys.rule && len(p.Keys.keys) == 0:
		return "Policy.Keys is empty"
	case p.Fingerprints.rule && len(p.Fingerprints.texts) == 0:
		return "Policy.Fingerprints is empty"
	case len(p.keys(ev)) == 0:
		return "the source lists no keys"
	}
	return ""
}

// unsigned returns nil if p accepts a package without a signature.
func (p Policy) unsigned(ev Evidence, missing string) error {
	switch {
	case ev.MustBeSigned:
		return fmt.Errorf("%w: %s, and the source requires one", ErrUnsigned, missing)
	case p.RequireSignature, p.pinned():
		return fmt.Errorf("%w: %s, and the policy requires one", ErrUnsigned, missing)
	case p.allowsUnsigned(ev):
		return nil
	case ev.Sums == nil && !slices.ContainsFunc(ev.Hashes, checksum.Hash.Known):
		return p.unchecked(ev) // not nil, because AllowUnchecked is not set here
	}
	return fmt.Errorf("%w: %s; set Policy.AllowUnsigned to accept the hashes that the source states", ErrUnsigned, missing)
}

// allowsUnsigned reports whether p accepts hashes that no signature covers.
func (p Policy) allowsUnsigned(ev Evidence) bool {
	return (p.AllowUnsigned || p.AllowUnchecked) && !p.RequireSignature && !p.pinned() && !ev.MustBeSigned
}

// compare compares the line of the archive with zh, and adds the document to the report. zh has
// the computed or stated hash of the archive, or is empty.
func (c CheckedSums) compare(r *Report, ev Evidence, zh []checksum.Hash) error {
	if err := ev.checkFilename(c.policy.AllowAnyName); err != nil {
		return err
	}
	want, ok := c.doc.Lookup(ev.Filename)
	switch {
	case !ok:
		return fmt.Errorf("%w: %q", ErrNotListed, ev.Filename)
	case len(zh) > 0 && !slices.Contains(zh, want):
		from := "SHA256SUMS"
		if c.by != nil {
			from = "signed SHA256SUMS"
		}
		return &checksum.MismatchError{Filename: ev.Filename, Source: from, Want: []checksum.Hash{want}, Got: zh}
	}
	r.Sums, r.SignedBy = c.doc, c.by
	if c.by != nil {
		r.Trust = Signed
	} else {
		r.Trust = max(r.Trust, Checked)
	}
	return nil
}

// recordable returns the h1 in ev.Packages that a lock file may record: the registry states the zh
// of the same package, and the signed document lists it. Nothing binds an h1 to its zh, so the
// registry is believed. local is left out, because the hashes of this package are computed.
func (c CheckedSums) recordable(ev Evidence, local []checksum.Hash) []checksum.Hash {
	p := c.policy
	if p.DropStated || !p.Accept.IsZero() || !p.SameRelease.IsZero() || p.pinned() || c.by == nil {
		return nil
	}
	listed := c.doc.listed()
	var h1 []checksum.Hash
	for _, hashes := range ev.Packages {
		zh := checksum.WithScheme(hashes, checksum.SchemeZH)
		if len(zh) == 1 && checksum.Overlap(zh, listed) && !checksum.Overlap(zh, local) {
			h1 = append(h1, checksum.WithScheme(hashes, checksum.SchemeH1)...)
		}
	}
	return checksum.Sorted(h1)
}

// JudgeStated decides about an archive without reading it, by the hashes that its source states, and
// the document and policy of c. Report.Local is empty. No value of Report.Trust proves a stated h1;
// Report.Stated has those that a lock file may record.
//
// After [ErrNotStated], [Policy.Check] may accept the archive. After any other error it refuses the archive.
func (c CheckedSums) JudgeStated(ctx context.Context, ev Evidence) (*Report, error) {
	p := c.policy
	if c.by == nil && p.checksSums() {
		if err := p.unsigned(ev, "SHA256SUMS is not signed"); err != nil {
			return nil, err
		}
	}
	zh := checksum.WithScheme(ev.Hashes, checksum.SchemeZH)
	if len(zh) > 1 {
		return nil, fmt.Errorf("%w: the source states %d zh hashes", ErrNotStated, len(zh))
	}
	r := &Report{}
	if checksum.HasScheme(ev.Hashes, checksum.SchemeH1) || len(zh) > 0 {
		r.Trust = Checked
	}
	if !p.Accept.IsZero() {
		if err := p.acceptOffer(ev); err != nil {
			return nil, err
		}
		if !checksum.Overlap(p.Accept.Hashes(), ev.Hashes) {
			return nil, fmt.Errorf("%w: the source states none of the accepted hashes", ErrNotStated)
		}
		r.Trust = Accepted
	}
	if p.checksSums() && c.doc != nil {
		if err := c.compare(r, ev, zh); err != nil {
			if errors.Is(err, checksum.ErrMismatch) {
				err = fmt.Errorf("hashes stated by the source: %w", err)
			}
			return nil, err
		}
		r.Stated = c.recordable(ev, nil)
	}
	if r.Trust == Unchecked {
		return nil, fmt.Errorf("%w: the source states no hash of a known scheme", ErrNotStated)
	}
	if err := p.built(ctx, r, ev, zh); err != nil {
		return nil, err
	}
	return r, nil
}
