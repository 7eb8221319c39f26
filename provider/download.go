package provider

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify"
)

// Options for [Download] and [Receive]. The zero value is strict and silent.
type Options struct {
	// Policy decides whether a package is accepted. The zero Policy wants the
	// archive in a SHA256SUMS document that a key of the registry has signed.
	// Its Limits hold for the transfer too.
	Policy verify.Policy

	// WantEvidence has [Receive] fetch the evidence also if Policy does not need it, to
	// keep it.
	WantEvidence bool

	// Progress is told each step of the job; nil: nobody is. It is called by one
	// goroutine at a time and holds up the transfer while it runs.
	Progress func(Event)

	// Arrived, if not nil, has [Receive] say how many bytes are in the file: 0 before the
	// first, also if the archive arrives once more, and then the size after each write.
	// total is what the source announces, 0 if it does not. An error ends the job.
	Arrived func(size, total int64) error
}

// Download fetches the archive of pkg, verifies it by o.Policy and puts it at
// path. Nothing else is ever to be seen at path: the bytes go to a private file
// beside it, are hashed as they arrive, judged, synced, and only then renamed. The
// private file is removed after any failure; only a process that is killed
// leaves it behind, under a name that starts with ".tofureg-", until the next Download
// into the same directory removes it.
//
// The directory of path must exist. A file at path is replaced by the verified
// one and otherwise left alone; a symbolic link is itself replaced, what it points
// to is not touched; a directory, device or pipe is refused at once.
// [Package.ArchiveName] is a good last element of path.
//
// Download does not look into the archive: what was signed may be anything. Package
// install unpacks it within limits, [Hashes] and checksum.H1Zip read it.
//
// The SHA256SUMS document and its signature are fetched beside the archive, and
// only if the policy needs them. The first failure of one stops the other and is
// what Download returns. A file that changes on the server during the transfer is
// fetched once more from its first byte. Memory use does not depend on the size of
// the package.
//
// The error is an [*Error]. What the policy refuses is one of the errors of
// package verify; ErrTooLarge tells that the archive exceeds the policy's limit;
// ErrUnpacked that pkg has no archive.
func Download(ctx context.Context, src Fetcher, pkg *Package, path string, o Options) (*verify.Report, error) {
	if err := pkg.fetchable(); err != nil {
		return nil, err
	}
	f, err := fsx.CreatePart(path, 0o644)
	if err != nil {
		return nil, failed("store", pkg, err)
	}
	defer f.Discard()
	fsx.SweepParts(filepath.Dir(path))
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

// fetchable refuses what has no archive.
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

// failed makes an *Error of err, if it is not one yet.
func failed(op string, pkg *Package, err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Op: op, Subject: pkg.String(), Err: err}
}
