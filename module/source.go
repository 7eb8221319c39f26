package module

import (
	"context"
	"io"

	"github.com/tofureg/tofureg/addrs"
)

// Lister answers what there is. Its methods must be safe for concurrent use.
type Lister interface {
	// ModuleVersions lists the versions of m. It returns ErrNotFound if the
	// source does not know m at all.
	ModuleVersions(ctx context.Context, m addrs.Module) (*Versions, error)

	// ModuleLocation finds the package of m in version v. It returns ErrNotFound
	// for an unknown module and ErrNoVersion for an unknown version.
	ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (*Location, error)
}

// Opener fetches what is at locations of KindHTTP. It must be safe for concurrent
// use.
type Opener interface {
	// OpenModule starts to fetch what is at loc. It sends the token of the
	// registry of loc.Module only if both Direct and UseRegistryCredentials are
	// set, and never over http.
	//
	// Where loc.MayBePage, the request has the parameter terraform-get=1, as the
	// CLI's, and the header X-Terraform-Get of the answer goes into Body.Next.
	//
	// Reading must end soon after ctx does. A read that returns ErrChanged asks
	// the caller to open once more and to drop what it has.
	OpenModule(ctx context.Context, loc *Location) (*Body, error)
}

// Source is a place that modules come from, normally a registry.
type Source interface {
	Lister
	Opener
}

// Body is what is arriving from a location. The caller closes it.
type Body struct {
	io.ReadCloser

	// Size is the size of the body in bytes as the transfer declares it; 0 or
	// less means unknown.
	Size int64

	// Resumes tells how often the transfer has been taken up again after a
	// break; it is safe to call while a read runs. Nil means that the source
	// cannot tell.
	Resumes func() int

	// Next is the location that the server names in its header
	// X-Terraform-Get, as it was sent; empty: none. If it is set, the body is
	// not read. A tag in a page need not be looked for: that is done here, see
	// [ParseMeta].
	Next string
}

// Fetcher fetches packages from locations that this package does not know how to
// fetch from. It must be safe for concurrent use.
type Fetcher interface {
	// FetchModule puts the whole package at loc into dir, an empty directory
	// that exists, and verifies loc.Checksum. Subdir is always empty, so that
	// loc.Source() is what go-getter needs. The caller copies the files from dir by
	// the rules for archives, see the package comment, so FetchModule may leave a
	// .git directory and any modes.
	FetchModule(ctx context.Context, loc *Location, dir string) error
}
