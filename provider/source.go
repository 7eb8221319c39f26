package provider

import (
	"context"
	"io"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
)

// Lister answers what there is. Its methods must be safe for concurrent use.
type Lister interface {
	// ProviderVersions lists the versions of p. It returns ErrNotFound if the
	// source does not know p at all; a known provider may have no versions.
	ProviderVersions(ctx context.Context, p addrs.Provider) (*Versions, error)

	// ProviderPackage finds the package of p in version v for a platform. It
	// returns ErrNotFound for an unknown provider, ErrNoVersion or ErrNoPlatform
	// if there is no such package. Whether the running program can speak the
	// package's protocols is the caller's question, see [Package.Fits].
	ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error)
}

// Fetcher fetches what a [Package] points to. Its methods must be safe for
// concurrent use.
type Fetcher interface {
	// Evidence returns [Package.Evidence] with the SHA256SUMS document and its
	// signature filled in, as far as the package names them. A policy that wants a
	// signature refuses a package without SumsURL, SignatureURL or Keys unasked.
	Evidence(ctx context.Context, pkg *Package) (verify.Evidence, error)

	// Open starts to fetch the archive. Reading must end soon after ctx does.
	// A read that returns ErrChanged asks the caller to open once more and to
	// drop what it has.
	Open(ctx context.Context, pkg *Package) (*Body, error)
}

// Source is a place that providers come from: a registry, a mirror, a directory.
type Source interface {
	Lister
	Fetcher
}

// Body is an archive that is arriving. The caller closes it.
type Body struct {
	io.ReadCloser

	// Size is the size of the archive in bytes as the transfer declares it;
	// 0 or less means unknown.
	Size int64

	// Resumes tells how often the transfer has been taken up again after a
	// break; it is safe to call while a read runs. Nil means that the source
	// cannot tell.
	Resumes func() int
}
