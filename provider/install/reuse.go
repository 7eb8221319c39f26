package install

import (
	"context"
	"errors"

	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// reuse returns the installed package if the policy accepts its h1, or the hashes in the note about
// it. Otherwise it returns nil.
func (i *installation) reuse(ctx context.Context, n *note) (*Installed, error) {
	pkg, err := i.installedPackage()
	if errors.Is(err, ErrNotInstalled) || err == nil && n == nil && !i.mayAcceptH1() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h1, err := pkg.H1(ctx)
	if err != nil {
		return nil, ctx.Err() // replace a package that cannot be read
	}
	local, size := []checksum.Hash{h1}, int64(-1)
	if n != nil && n.Tree == h1 {
		local, size = []checksum.Hash{n.ZH, n.Packed, n.Tree}, n.Size
	}
	ev, err := i.evidence(ctx)
	if err != nil {
		return nil, err
	}
	report, err := i.o.Policy.Judge(ev, size, local)
	if err != nil || report.Trust < verify.Checked {
		return nil, nil
	}
	return &Installed{Package: *pkg, Report: report, Reused: true}, nil
}

// mayAcceptH1 reports whether the policy might accept a directory by its h1 alone, so that hashing
// it is worthwhile.
func (i *installation) mayAcceptH1() bool {
	p := i.o.Policy
	switch {
	case p.Accept != nil && !p.RequireSignature:
		return checksum.HasScheme(p.Accept, checksum.SchemeH1)
	case i.from.SumsURL != "" && p.NeedsEvidence():
		return false // SHA256SUMS documents list archives
	}
	return checksum.HasScheme(i.from.Hashes[i.from.Platform], checksum.SchemeH1)
}

// evidence returns the evidence that the policy needs.
func (i *installation) evidence(ctx context.Context) (verify.Evidence, error) {
	if !i.o.Policy.NeedsEvidence() || i.src == nil {
		return i.from.Evidence(), nil
	}
	return i.src.Evidence(ctx, i.from)
}
