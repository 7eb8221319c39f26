package provider

import (
	"context"
	"io"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
)

// Lister lists versions and packages. Its methods must be safe for concurrent use.
type Lister interface {
	// ProviderVersions lists the versions of p; a known provider may have none. It
	// returns ErrNotFound if the source does not know p.
	ProviderVersions(ctx context.Context, p addrs.Provider) (*Versions, error)

	// ProviderPackage returns the package of p at v for platform. It returns ErrNotFound,
	// ErrNoVersion or ErrNoPlatform if there is none. It does not check plugin protocols;
	// [Package.Fits] does.
	ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error)
}

// Fetcher fetches the files that a [Package] names. Its methods must be safe for concurrent
// use.
type Fetcher interface {
	// Evidence returns [Package.Evidence] with the SHA256SUMS document and its signature,
	// if pkg names them.
	Evidence(ctx context.Context, pkg *Package) (verify.Evidence, error)

	// Open starts to fetch the archive. Reads must end soon after ctx does. If Open or a
	// read returns ErrChanged, the caller may open again and must discard what it has read.
	Open(ctx context.Context, pkg *Package) (*Body, error)
}

// Source has provider packages. It is a registry, a mirror or a directory.
type Source interface {
	Lister
	Fetcher
}

// Body is an archive that is being fetched. The caller must close it.
type Body struct {
	io.ReadCloser

	// Size is the declared size of the archive in bytes. If 0 or less, it is unknown.
	Size int64

	// Resumes, if not nil, returns how often the transfer was resumed. It may be called
	// during a Read.
	Resumes func() int
}
