package module

import (
	"context"
	"io"

	"github.com/tofureg/tofureg/addrs"
)

// Lister finds versions and locations of modules. It must be safe for concurrent use.
type Lister interface {
	// ModuleVersions lists the versions of m. If m is unknown, it returns ErrNotFound.
	ModuleVersions(ctx context.Context, m addrs.Module) (*Versions, error)

	// ModuleLocation returns the location of m in version v. If m is unknown, it returns
	// ErrNotFound; if v is unknown, ErrNoVersion.
	ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (*Location, error)
}

// Opener fetches from locations of KindHTTP. It must be safe for concurrent use.
type Opener interface {
	// OpenModule starts to fetch from loc. It sends the token of the registry of loc.Module
	// only if Direct and UseRegistryCredentials are set, and never over http.
	//
	// If loc.MayBePage, the request has the parameter terraform-get=1, and Body.Next is the
	// header X-Terraform-Get of the answer.
	//
	// Reading must end soon after ctx ends. If a read returns ErrChanged, the caller calls
	// OpenModule once more.
	OpenModule(ctx context.Context, loc *Location) (*Body, error)
}

// Source is a source of modules, normally a registry.
type Source interface {
	Lister
	Opener
}

// Body is the content of a location. The caller closes it.
type Body struct {
	io.ReadCloser

	// Size is the size of the body in bytes. If zero or less, it is unknown.
	Size int64

	// Resumes, if not nil, returns how often the transfer was resumed. It may be called
	// during a read.
	Resumes func() int

	// Next, if not empty, is the location in the header X-Terraform-Get. The body is then not
	// read.
	Next string
}

// Fetcher fetches packages from other locations. It must be safe for concurrent use.
type Fetcher interface {
	// FetchModule puts the whole package at loc into the empty directory dir, and verifies
	// loc.Checksum. loc.Subdir is empty, so that loc.Source() is a source for go-getter. The
	// rules for packages are applied afterwards.
	FetchModule(ctx context.Context, loc *Location, dir string) error
}
