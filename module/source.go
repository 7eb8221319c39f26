package module

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/wrap"
)

// Lister lists versions and locations. It must be safe for concurrent use.
type Lister interface {
	// ModuleVersions lists the versions of m, perhaps none, or returns failure.ErrNotFound.
	ModuleVersions(ctx context.Context, m addrs.Module) (*Versions, error)

	// ModuleLocation returns the location of m at v, or failure.ErrNotFound or failure.ErrNoVersion.
	ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (*Location, error)
}

// Opener opens locations of [KindHTTP]. It must be safe for concurrent use.
type Opener interface {
	// OpenModule starts to fetch from loc. It sends the token of the registry of loc.Module only over https, and only
	// if both Direct and UseRegistryCredentials are set. If loc.MayBePage, the request has the parameter
	// terraform-get=1. Reads end soon after ctx does. After failure.ErrChanged, the caller may open again and must
	// discard what it has read.
	OpenModule(ctx context.Context, loc *Location) (*Body, error)
}

// Source has modules.
type Source interface {
	Lister
	Opener
}

// Body is an archive or page. The caller must close it.
type Body struct {
	io.ReadCloser

	Size int64 // declared, in bytes; 0 or less if unknown

	Resumes func() int // how often the transfer was resumed, also during a Read; may be nil

	ETag string // the header, for [Options.Cache]; may be empty

	Next string // the header X-Terraform-Get, which replaces the body; ignored unless [Location.MayBePage]
}

// Read reads ReadCloser, if not nil.
func (b *Body) Read(p []byte) (int, error) { return wrap.Read(b.ReadCloser, p) }

// Close closes ReadCloser, if not nil.
func (b *Body) Close() error { return wrap.Close(b.ReadCloser) }

// Fetcher fetches packages from locations of all kinds except [KindHTTP] and [KindLocal]. It must be safe for concurrent
// use.
type Fetcher interface {
	// FetchModule puts the whole package at loc into the empty directory dir, and verifies loc.Checksum. loc.Subdir is
	// empty. The package is checked again by the options of the download. A Fetcher that unpacks archives obeys Limits,
	// KeepLinks and SkipLinks, and returns the omitted names. It reports received bytes to Progress until it returns,
	// by a [progress.Meter] or [Download]. Of its events, only those of transfers are passed on, with the names of the
	// download.
	FetchModule(ctx context.Context, loc *Location, dir string, o Options) (skipped []string, err error)
}

// Fetchers has fetchers by [Kind], such as "s3", or for KindOther by [Location.Getter]. For a missing key, the error is
// an [*UnsupportedError].
type Fetchers map[string]Fetcher

// FetchModule calls the Fetcher for loc.
func (f Fetchers) FetchModule(ctx context.Context, loc *Location, dir string, o Options) (skipped []string, err error) {
	if loc == nil {
		loc = &Location{}
	}
	name := cmp.Or(loc.Getter, string(loc.Kind))
	if f[name] == nil {
		missing := []string{fmt.Sprintf("Fetcher[%.100q]", name)}
		if loc.Kind == KindGit {
			missing = append(missing, "Git")
		}
		return nil, &UnsupportedError{Kind: loc.Kind, Getter: loc.Getter, Options: missing}
	}
	return f[name].FetchModule(ctx, loc, dir, o)
}
