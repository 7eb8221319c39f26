package provider

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify"
)

// Options are the options of [Download] and [Receive]. The zero value is strict.
type Options struct {
	// Policy decides whether the archive is accepted. Its Limits bound the transfer, too.
	Policy verify.Policy

	// WantEvidence makes [Receive] fetch the evidence even if Policy does not need it.
	WantEvidence bool

	// Progress, if not nil, is called for each step. Calls never overlap.
	Progress func(Event)

	// Arrived, if not nil, is called with the size of the file: 0 at the start and at a
	// restart, then after each write. total is the declared size, or 0. An error ends the
	// transfer.
	Arrived func(size, total int64) error
}

// Download fetches the archive of pkg, verifies it by o.Policy and stores it as the file path.
// It writes to a private file in the same directory, which must exist, and renames the file
// when the policy has accepted it. If Download fails, path is unchanged.
//
// A file or symbolic link at path is replaced; a directory, device or pipe is refused.
// [Package.ArchiveName] is a safe base name. Download removes the private files of killed
// processes, named ".tofureg-…". It does not check the content of the archive; package
// [github.com/tofureg/tofureg/provider/install] does when it unpacks it.
//
// The error wraps an error of package [verify] if the policy refuses the archive, [github.com/tofureg/tofureg/failure.ErrTooLarge] if
// it exceeds o.Policy.Limits, and ErrUnpacked if pkg has no archive.
func Download(ctx context.Context, src Fetcher, pkg *Package, path string, o Options) (*verify.Report, error) {
	if err := pkg.fetchable(); err != nil {
		return nil, err
	}
	f, err := fsx.CreatePart(path, 0o644)
	if err != nil {
		return nil, failed("store", pkg, err)
	}
	defer f.Discard()
	fsx.SweepParts(ctx, filepath.Dir(path))
	got, err := Receive(ctx, src, pkg, f.File, o)
	if err != nil {
		return nil, err
	}
	report, err := got.Judge(ctx, o.Policy)
	if err != nil {
		return nil, failed("verify", pkg, err)
	}
	if err := f.Commit(); err != nil {
		return nil, failed("store", pkg, err)
	}
	m := newMeter(pkg, o.Progress)
	m.Bytes, m.Total = got.Size, got.Size
	m.Report(string(EventVerified), nil)
	return report, nil
}

// fetchable returns an error if p has no archive.
func (p *Package) fetchable() error {
	switch {
	case p == nil:
		return &Error{Op: "fetch", Err: errors.New("the package is nil")}
	case p.Provider.IsZero() || p.Version.IsZero() || p.Platform.IsZero():
		return failed("fetch", p, errors.New("provider, version or platform is missing"))
	case p.Dir != "":
		return failed("fetch", p, ErrUnpacked)
	}
	return nil
}

// failed returns err as an *Error.
func failed(op string, pkg *Package, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Op: op, Subject: pkg.String(), Err: err}
}
