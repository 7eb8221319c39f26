package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/verify/checksum"
)

// JudgeOffer returns the error of an [Examination] if p refuses every archive with this evidence. sums and signature say
// whether the source has these documents; those in ev are ignored.
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
	case sums && !p.SameRelease.IsZero() && !slices.ContainsFunc(p.SameRelease.Hashes(), hashlist.OfBytes):
		return ErrOtherRelease
	case sums:
		return ev.checkFilename(p.AllowAnyName)
	}
	if !p.Accept.IsZero() || slices.ContainsFunc(ev.Hashes, hashlist.Known) {
		return nil
	}
	return p.unchecked(ev)
}

// An Examination judges a zip archive as its hashes become known: Archive gets what a [checksum.Digester] has computed,
// H1 the h1 if it is needed. It must not be used concurrently.
//
// All calls after an error return it. It wraps a [*checksum.MismatchError], [checksum.ErrMismatch] for the size, a
// variable of this package, or [github.com/tofureg/tofureg/failure.ErrTooLarge]. For an invalid SHA256SUMS it wraps
// none.
type Examination struct {
	policy Policy
	ev     Evidence
	sums   func() (CheckedSums, error)

	digests checksum.Digests
	needsH1 bool // to decide
	report  *Report
	err     error
}

// Examine begins to judge an archive.
func (p Policy) Examine(ev Evidence) *Examination {
	return &Examination{policy: p, ev: ev, sums: sync.OnceValues(func() (CheckedSums, error) { return p.CheckSums(ev) })}
}

// Archive judges by the size and the hashes of the bytes. No other user must be able to change the bytes after they were
// hashed. After an error, the caller must not inflate the archive. needsH1 reports whether the h1 decides. For
// [ErrNotComputed], see [Policy.Judge].
func (x *Examination) Archive(ctx context.Context, d checksum.Digests) (needsH1 bool, err error) {
	if x.err != nil {
		return false, x.err
	}
	x.digests = checksum.Digests{Size: d.Size, Hashes: slices.Clip(d.Hashes)}
	known := archiveAndH1
	if x.needsH1 = x.policy.needsH1(x.ev, d.Hashes); x.needsH1 {
		known = archiveOnly
	}
	x.report, x.err = x.policy.judge(ctx, x.ev, x.digests, x.sums, known)
	return x.needsH1, x.err
}

// H1 judges by both hashes of [checksum.H1Zip], and adds them to [Report.Local]. It must follow Archive, and may be
// called if they are not needed.
func (x *Examination) H1(ctx context.Context, packed, tree checksum.Hash) error {
	x.needsH1 = false
	if _, err := x.Report(); err != nil {
		return err
	}
	x.digests.Hashes = append(x.digests.Hashes, packed, tree)
	x.report, x.err = x.policy.judge(ctx, x.ev, x.digests, x.sums, archiveAndH1)
	return x.err
}

// Report returns the report on an accepted archive. Before Archive, or without an h1 that is needed, the error wraps
// [ErrUnchecked].
func (x *Examination) Report() (*Report, error) {
	switch {
	case x.err != nil:
		return nil, x.err
	case x.report == nil:
		return nil, fmt.Errorf("%w: its hashes are not known", ErrUnchecked)
	case x.needsH1:
		return nil, fmt.Errorf("%w: the policy decides by the h1 of the archive, and only its zh is known", ErrUnchecked)
	}
	return x.report, nil
}

// needsH1 reports whether p needs an h1 of the archive whose bytes have these hashes.
func (p Policy) needsH1(ev Evidence, of []checksum.Hash) bool {
	switch {
	case !p.Accept.IsZero():
		accept := p.Accept.Hashes()
		return hashlist.Has(accept, checksum.SchemeH1) && !hashlist.Overlap(accept, of)
	case len(ev.Sums) > 0, !p.allowsUnsigned(ev):
		return false // SHA256SUMS has a zh, and without it the package is refused
	}
	return hashlist.Has(ev.Hashes, checksum.SchemeH1) && !slices.ContainsFunc(ev.Hashes, hashlist.OfBytes)
}

// Check examines the zip archive in the first size bytes of zip. To compare it with known hashes only, set Accept and
// pass the zero Evidence. The error is that of an [Examination], zip, [checksum.H1Zip] or ctx.
func (p Policy) Check(ctx context.Context, ev Evidence, zip io.ReaderAt, size int64) (*Report, error) {
	if limit := p.Limits.Effective().Package; size > limit {
		return nil, fmt.Errorf("package %q %w: %d bytes, %d are allowed", ev.Filename, failure.ErrTooLarge, size, limit)
	}
	sums, wait := p.startSums(ev)
	defer wait()
	var bytes checksum.Digester
	n, err := bytes.ReadFrom(archive.Until(ctx, io.NewSectionReader(zip, 0, size)))
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes of %d: %w", n, size, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, fmt.Errorf("reading package %q: %w", ev.Filename, err)
	}
	x := &Examination{policy: p, ev: ev, sums: sums}
	needsH1, err := x.Archive(ctx, bytes.Digests())
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

// Judge decides about an archive by its computed digests. If d lacks a hash of the bytes that p must compare, the error
// wraps [ErrNotComputed]. For others, see [Examination].
func (p Policy) Judge(ctx context.Context, ev Evidence, d checksum.Digests) (*Report, error) {
	return p.judge(ctx, ev, d, func() (CheckedSums, error) { return p.CheckSums(ev) }, archiveAndH1)
}

// JudgeDirectory decides about an unpacked package by its h1. Accept, or a stated h1 with AllowUnsigned, can accept it,
// but not where SHA256SUMS is checked, which has only zh. For errors, see [Examination].
func (p Policy) JudgeDirectory(ev Evidence, h1 checksum.Hash) (*Report, error) {
	d := checksum.Digests{Size: -1, Hashes: []checksum.Hash{h1}}
	ctx := context.Background() // which is for Provenance, and refuses directories unasked
	return p.judge(ctx, ev, d, func() (CheckedSums, error) { return p.CheckSums(ev) }, directory)
}

// what says which hashes are computed.
type what int

const (
	archiveAndH1 what = iota // all that the policy decides by
	archiveOnly              // an h1 follows
	directory                // an h1 of a directory
)

// judge compares ev with the computed hashes. If an h1 follows, it returns only errors that these hashes prove.
func (p Policy) judge(ctx context.Context, ev Evidence, d checksum.Digests, sums func() (CheckedSums, error), computed what) (*Report, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if ev.Size > 0 && d.Size >= 0 && ev.Size != d.Size {
		return nil, fmt.Errorf("%w: archive %.200q is %d bytes, want %d", checksum.ErrMismatch, ev.Filename, d.Size, ev.Size)
	}
	r := &Report{Local: hashlist.Sorted(d.Hashes)}
	if computed != directory {
		if !slices.ContainsFunc(r.Local, hashlist.OfBytes) {
			return nil, fmt.Errorf("%w: no hash of its bytes is known", ErrNotComputed)
		}
		if err := isComputed("the source states", ev.Hashes, r.Local); err != nil {
			return nil, err
		}
	}
	// One hash of each scheme must match: an archive has two h1 hashes, and either may be stated.
	for _, h := range ev.Hashes {
		got := checksum.WithScheme(r.Local, h.Scheme())
		if want := checksum.WithScheme(ev.Hashes, h.Scheme()); len(got) > 0 && hashlist.Known(h) {
			if !hashlist.Overlap(want, got) {
				return nil, &checksum.MismatchError{Filename: ev.Filename, Source: "hashes stated by the source", Want: want, Got: got}
			}
			r.Trust = Checked
		}
	}
	if !p.Accept.IsZero() && computed != archiveOnly {
		err := p.accept(ev, r.Local)
		if err != nil && computed != directory {
			err = cmp.Or(isComputed("the accepted hashes have", p.Accept.Hashes(), r.Local), err)
		}
		if err != nil {
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
		if err := checked.compare(r, ev, r.Local); err != nil {
			return nil, err
		}
		if computed == directory {
			return nil, fmt.Errorf("%w: SHA256SUMS has a hash of the archive, but only the h1 of its content is known", ErrUnchecked)
		}
		if err := isComputed("SHA256SUMS has", checked.doc.hashes[ev.Filename], r.Local); err != nil {
			return nil, err
		}
	}
	r.Stated = checked.recordable(ev, r.Local)
	if r.Trust == Unchecked && computed != archiveOnly {
		if err := p.unchecked(ev); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// isComputed returns an error if local lacks a hash of a scheme over the bytes of an archive that stated has.
func isComputed(who string, stated, local []checksum.Hash) error {
	for _, h := range stated {
		if hashlist.OfBytes(h) && !hashlist.Has(local, h.Scheme()) {
			return fmt.Errorf("%w: %s a %s of the archive", ErrNotComputed, who, h.Scheme())
		}
	}
	return nil
}

// ofBytes returns the hashes over the bytes of an archive.
func ofBytes(hashes []checksum.Hash) []checksum.Hash {
	return slices.DeleteFunc(slices.Clone(hashes), func(h checksum.Hash) bool { return !hashlist.OfBytes(h) })
}

func (p Policy) accept(ev Evidence, local []checksum.Hash) error {
	accept := p.Accept.Hashes()
	if hashlist.Overlap(accept, local) {
		return nil
	}
	mismatch := &checksum.MismatchError{Filename: ev.Filename, Source: "accepted hashes", Want: accept, Got: local}
	return fmt.Errorf("%w: %w", ErrNotAccepted, mismatch)
}

// acceptOffer returns an error if no archive has a hash in Accept and the zh that the source states.
func (p Policy) acceptOffer(ev Evidence) error {
	accept := p.Accept.Hashes()
	if p.Accept.IsZero() || hashlist.Has(accept, checksum.SchemeH1) {
		return nil
	}
	stated := ofBytes(ev.Hashes)
	noneKnown := !slices.ContainsFunc(accept, hashlist.Known)
	if err := p.accept(ev, stated); err != nil && (noneKnown || isComputed("", accept, stated) == nil) {
		return fmt.Errorf("hashes stated by the source: %w", err)
	}
	return nil
}

// unchecked returns the error for a package without a hash to compare, or nil if p accepts it.
func (p Policy) unchecked(ev Evidence) error {
	why := "the source states none"
	switch {
	case slices.ContainsFunc(ev.Hashes, hashlist.Known):
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

// CheckedSums is a SHA256SUMS document with the policy that checked it. The zero value has no document and the zero
// policy.
type CheckedSums struct {
	policy Policy
	doc    *Sums
	by     *Signature
}

// Sums returns the document, or nil.
func (c CheckedSums) Sums() *Sums { return c.doc }

// SignedBy returns the verified signature, or nil.
func (c CheckedSums) SignedBy() *Signature { return c.by }

// CheckSums parses SHA256SUMS and verifies its signature, once for all platforms of a version. It does not check the
// version: set Evidence.Requested for [CheckedSums.JudgeStated]. The result has no document or signature if p checks none
// or accepts that they are missing.
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
		check := signatureCheck{
			at: p.now(), all: p.Keys.rule, pinned: p.Fingerprints.rule, pins: p.Fingerprints.canonical,
			allowExpired: p.AllowExpired, requireCurrent: p.RequireCurrent, allowWeak: p.AllowWeak,
		}
		var err error
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
	if !p.SameRelease.IsZero() && !hashlist.Overlap(p.SameRelease.Hashes(), doc.listed()) {
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
	case p.Fingerprints.rule && len(p.Fingerprints.canonical) == 0:
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
	case ev.Sums == nil && !slices.ContainsFunc(ev.Hashes, hashlist.Known):
		return p.unchecked(ev) // not nil, because AllowUnchecked is not set here
	}
	return fmt.Errorf("%w: %s; set Policy.AllowUnsigned to accept the hashes that the source states", ErrUnsigned, missing)
}

// allowsUnsigned reports whether p accepts hashes that no signature covers.
func (p Policy) allowsUnsigned(ev Evidence) bool {
	return (p.AllowUnsigned || p.AllowUnchecked) && !ev.MustBeSigned
}

// compare compares the lines of the archive with its computed or stated hashes, as far as their schemes are the same,
// and adds the document to the report.
func (c CheckedSums) compare(r *Report, ev Evidence, hashes []checksum.Hash) error {
	if err := ev.checkFilename(c.policy.AllowAnyName); err != nil {
		return err
	}
	listed := c.doc.hashes[ev.Filename]
	if len(listed) == 0 {
		return fmt.Errorf("%w: %q", ErrNotListed, ev.Filename)
	}
	for _, want := range listed {
		if got := checksum.WithScheme(hashes, want.Scheme()); len(got) > 0 && !slices.Contains(got, want) {
			from := "SHA256SUMS"
			if c.by != nil {
				from = "signed SHA256SUMS"
			}
			return &checksum.MismatchError{Filename: ev.Filename, Source: from, Want: []checksum.Hash{want}, Got: got}
		}
	}
	r.Sums, r.SignedBy = c.doc, c.by
	if c.by != nil {
		r.Trust = Signed
	} else {
		r.Trust = max(r.Trust, Checked)
	}
	return nil
}

// recorded is the registry whose h1 OpenTofu records without proof.
const recorded = "registry.opentofu.org"

// recordable returns the h1 in ev.Packages that a lock file may record: the registry states the zh
// of the same package, and the signed document lists it. Nothing binds an h1 to its zh, so the
// registry is believed. local is left out, because the hashes of this package are computed.
func (c CheckedSums) recordable(ev Evidence, local []checksum.Hash) []checksum.Hash {
	p := c.policy
	if ev.Registry != recorded || p.DropStated || !p.Accept.IsZero() || !p.SameRelease.IsZero() || p.pinned() || c.by == nil {
		return nil
	}
	listed := c.doc.listed()
	var h1 []checksum.Hash
	for _, hashes := range ev.Packages {
		zh := checksum.WithScheme(hashes, checksum.SchemeZH)
		if len(zh) == 1 && hashlist.Overlap(zh, listed) && !hashlist.Overlap(zh, local) {
			h1 = append(h1, checksum.WithScheme(hashes, checksum.SchemeH1)...)
		}
	}
	return hashlist.Sorted(h1)
}

// JudgeStated decides about an archive by the hashes that its source states, and the document and policy of c.
// Report.Local is empty. No Report.Trust proves a stated h1, see [Report.Recordable]. After [ErrNotStated],
// [Policy.Check] may accept the archive. After any other error it refuses the archive.
func (c CheckedSums) JudgeStated(ctx context.Context, ev Evidence) (*Report, error) {
	p := c.policy
	if c.by == nil && p.checksSums() {
		if err := p.unsigned(ev, "SHA256SUMS is not signed"); err != nil {
			return nil, err
		}
	}
	for _, h := range ev.Hashes {
		if same := checksum.WithScheme(ev.Hashes, h.Scheme()); hashlist.OfBytes(h) && len(same) > 1 {
			return nil, fmt.Errorf("%w: the source states %d %s hashes", ErrNotStated, len(same), h.Scheme())
		}
	}
	r := &Report{}
	if slices.ContainsFunc(ev.Hashes, hashlist.Known) {
		r.Trust = Checked
	}
	if !p.Accept.IsZero() {
		if err := p.acceptOffer(ev); err != nil {
			return nil, err
		}
		if !hashlist.Overlap(p.Accept.Hashes(), ev.Hashes) {
			return nil, fmt.Errorf("%w: the source states none of the accepted hashes", ErrNotStated)
		}
		r.Trust = Accepted
	}
	if p.checksSums() && c.doc != nil {
		if err := c.compare(r, ev, ev.Hashes); err != nil {
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
	if err := p.built(ctx, r, ev, ev.Hashes); err != nil {
		return nil, err
	}
	return r, nil
}
