package module

import (
	"context"
	"io"

	"github.com/tofureg/tofureg/addrs"
)

// Lister finds versions and locations of modules. Its methods must be safe for concurrent
// use.
type Lister interface {
	// ModuleVersions lists the versions of m. It returns ErrNotFound if the source does
	// not know m.
	ModuleVersions(ctx context.Context, m addrs.Module) (*Versions, error)

	// ModuleLocation returns the location of the package of m in version v. It returns
	// ErrNotFound for an unknown module and ErrNoVersion for an unknown version.
	ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (*Location, error)
}

// Opener fetches from locations of KindHTTP. It must be safe for concurrent use.
type Opener interface {
	// OpenModule starts to fetch from loc. It sends the token of the registry of
	// loc.Module only if both Direct and UseRegistryCredentials are set, and never over
	// http.
	//
	// If loc.MayBePage, the request has the parameter terraform-get=1, as the CLI sends
	// it, and Body.Next is the header X-Terraform-Get of the answer.
	//
	// Reading must end soon after ctx ends. If a read returns ErrChanged, the caller
	// drops the bytes that it has and calls OpenModule once more.
	OpenModule(ctx context.Context, loc *Location) (*Body, error)
}

// Source is a source of modules, normally a registry.
type Source interface {
	Lister
	Opener
}

// Body is the content that arrives from a location. The caller closes it.
type Body struct {
	io.ReadCloser

	// Size is the declared size of the body in bytes. If it is zero or less, the size
	// is unknown.
	Size int64

	// Resumes, if not nil, returns how often the transfer was resumed after it broke. It
	// may be called while a read runs.
	Resumes func() int

	// Next is the header X-Terraform-Get, which names another location; empty if there
	// is none. If it is set, the body is not read. The caller looks for a tag in a page,
	// see [ParseMeta].
	Next string
}

// Fetcher fetches packages from the locations that this package does not support. It must
// be safe for concurrent use.
type Fetcher interface {
	// FetchModule puts the whole package at loc into dir, an empty directory
	// that exists, and verifies loc.Checksum. Subdir is always empty, so that
	// loc.Source() is what go-getter needs. The caller copies the files from dir by
	// the rules for archives, see the package comment, so FetchModule may leave a
	// .git directory and any modes.
	FetchModule(ctx context.Context, loc *Location, dir string) error
}
