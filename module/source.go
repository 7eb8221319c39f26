package module

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/tofureg/tofureg/addrs"
)

// Lister finds modules. It must be safe for concurrent use.
type Lister interface {
	// ModuleVersions lists the versions of m. If m is unknown, it returns ErrNotFound.
	ModuleVersions(ctx context.Context, m addrs.Module) (*Versions, error)

	// ModuleLocation returns where m in version v is. If m is unknown, it returns ErrNotFound;
	// if v is unknown, ErrNoVersion.
	ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (*Location, error)
}

// Opener fetches from locations of KindHTTP. It must be safe for concurrent use.
type Opener interface {
	// OpenModule starts to fetch from loc. It sends the token of the registry of loc.Module
	// only if Direct and UseRegistryCredentials are set, and never over http.
	//
	// If loc.MayBePage, the request has the parameter terraform-get=1. Reading must end soon
	// after ctx ends. After ErrChanged, the caller calls OpenModule once more.
	OpenModule(ctx context.Context, loc *Location) (*Body, error)
}

// Source is a source of modules, normally a registry.
type Source interface {
	Lister
	Opener
}

// Body is the content of a [Location]. The caller closes it.
type Body struct {
	io.ReadCloser

	Size int64 // bytes; unknown if zero or less

	// Resumes, if not nil, counts how often the transfer was resumed, also during a read.
	Resumes func() int

	// Next is the header X-Terraform-Get. Unless empty, the body is not read.
	Next string
}

// Fetcher fetches packages from other locations. It must be safe for concurrent use.
type Fetcher interface {
	// FetchModule puts the whole package at loc into the empty directory dir, and verifies
	// loc.Checksum. Since loc.Subdir is empty, loc.Source() suits go-getter. The rules for
	// packages are applied afterwards.
	//
	// The options are those of the download. A Fetcher that unpacks archives obeys Limits and
	// SkipLinks, and returns the names that it omitted, for [Report.Skipped].
	FetchModule(ctx context.Context, loc *Location, dir string, o Options) (skipped []string, err error)
}

// Fetchers is a Fetcher that calls another one for each kind of location. The keys are kinds, such as
// "s3" and "oci", or a [Location.Getter]. For other locations the error is an [*UnsupportedError].
type Fetchers map[string]Fetcher

// FetchModule calls the Fetcher for loc.
func (f Fetchers) FetchModule(ctx context.Context, loc *Location, dir string, o Options) (skipped []string, err error) {
	name := cmp.Or(loc.Getter, string(loc.Kind))
	if f[name] == nil {
		return nil, &UnsupportedError{Kind: loc.Kind, Getter: loc.Getter, Options: []string{fmt.Sprintf("Fetcher[%.100q]", name)}}
	}
	return f[name].FetchModule(ctx, loc, dir, o)
}
