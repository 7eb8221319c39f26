package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/evidence"
	"github.com/tofureg/tofureg/internal/wrap"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Lister lists versions and packages.
type Lister interface {
	// ProviderVersions lists the versions of p, perhaps none, or returns failure.ErrNotFound.
	ProviderVersions(ctx context.Context, p addrs.Provider) (*Versions, error)

	// ProviderPackage returns the package, failure.ErrNotFound, failure.ErrNoVersion or ErrNoPlatform. It does not check
	// plugin protocols; [Package.Fits] does.
	ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error)
}

// Opener opens the files that a [Package] names.
type Opener interface {
	// Evidence returns [Package.Evidence] with the SHA256SUMS document and signature that pkg names.
	Evidence(ctx context.Context, pkg *Package) (verify.Evidence, error)

	// Open starts to fetch the archive, or returns ErrNoFile. Reads must end soon after ctx does. After
	// failure.ErrChanged, the caller may open again, and must discard what it has read.
	Open(ctx context.Context, pkg *Package) (*Body, error)
}

// Source has provider packages. Like a [Lister] or [Opener] alone, it must be safe for concurrent use. [As] says how to
// wrap one.
type Source interface {
	Lister
	Opener
}

// Catalogue is a [Source] that knows all archives of a version at once, as a mirror does.
type Catalogue interface {
	// ListedVersions returns the versions of p, unsorted, perhaps without archives, or failure.ErrNotFound.
	ListedVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error)

	// ListedArchives returns the stated hashes of the archives of v, or failure.ErrNotFound.
	ListedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error)
}

// Verified is a [Source] whose archives a server sends regardless of its own policy: they were verified when they were
// stored, or reading a refused one fails before its last byte.
type Verified interface {
	Catalogue

	// IsLocal reports whether the bodies of Open are an [io.Seeker] with a Size, such as a local file. If not, a server
	// copies each archive to a temporary file, and compares it with the stated hashes.
	IsLocal() bool
}

// As returns the first source that is a T, an interface such as [Catalogue]: src, or one that it wraps by a method
// Unwrap() Source.
//
// A server calls the wrapper for packages and archives, and for the rest if it has the methods: a counter of requests
// needs the methods of Catalogue and of [Lister].
//
// A wrapper that changes versions, packages, hashes or archives must have no Unwrap: a server does not judge the packages
// of a mirror or cache behind Unwrap. Without Unwrap, or if a struct embeds a type such as a mirror in place of the
// interface [Source], a server asks the wrapper for each package.
func As[T any](src Source) (t T, ok bool) { return wrap.As[T](src) }

// Body is an archive being fetched. The caller must close it. A server sends ranges of an [io.Seeker], so a wrapper of
// one is one too.
type Body struct {
	io.ReadCloser

	Size int64 // declared, in bytes; 0 or less if unknown

	Resumes func() int // if not nil, returns how often the transfer was resumed, also during a Read
}

// Read reads from ReadCloser, if it is not nil.
func (b *Body) Read(p []byte) (int, error) { return wrap.Read(b.ReadCloser, p) }

// Close closes ReadCloser, if it is not nil.
func (b *Body) Close() error { return wrap.Close(b.ReadCloser) }

// CheckAnswers returns a [Source] that fails if src answers with nil, or with a package that was not requested, as the
// functions of this package do. A nil src has no providers.
func CheckAnswers(src Source) Source {
	if src == nil {
		src = &Multi{}
	}
	return checked{src, src}
}

// checked checks the answers of a source.
type checked struct {
	Lister
	Opener
}

// Unwrap returns the source behind c.
func (c checked) Unwrap() Source {
	src, _ := c.Lister.(Source)
	return src
}

// ProviderVersions implements [Lister].
func (c checked) ProviderVersions(ctx context.Context, p addrs.Provider) (*Versions, error) {
	versions, err := c.Lister.ProviderVersions(ctx, p)
	if err != nil {
		return nil, err
	}
	if versions == nil {
		return nil, &failure.Error{Op: "list versions of", Subject: p.String(), Err: errors.New("the source returned neither versions nor an error")}
	}
	if versions.Provider.IsZero() { // which errors name
		versions = versions.Clone()
		versions.Provider = p
	}
	return versions, nil
}

// ProviderPackage implements [Lister].
func (c checked) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error) {
	pkg, err := c.Lister.ProviderPackage(ctx, p, v, platform)
	if err != nil {
		return nil, err
	}
	if err := pkg.checkIs(p, v, platform); err != nil {
		return nil, failure.Wrap("find", (&Package{Provider: p, Version: v, Platform: platform}).String(), err)
	}
	return pkg, nil
}

// Open implements [Opener].
func (c checked) Open(ctx context.Context, pkg *Package) (*Body, error) {
	body, err := c.Opener.Open(ctx, pkg)
	if err == nil && (body == nil || body.ReadCloser == nil) {
		return nil, failure.Wrap("fetch", pkg.String(), errors.New("the source returned neither an archive nor an error"))
	}
	return body, err
}

// checkIs returns an error unless p is the requested package.
func (p *Package) checkIs(wanted addrs.Provider, v addrs.Version, platform addrs.Platform) error {
	switch {
	case p == nil:
		return errors.New("the source returned neither a package nor an error")
	case p.Provider != wanted || p.Version != v || p.Platform != platform:
		return fmt.Errorf("the source returned the package %s", p)
	}
	return nil
}

// ShareEvidence returns a [Source] that fetches each SHA256SUMS document and its signature once. It caches up to 8 MiB,
// for a day, and includes [CheckAnswers].
func ShareEvidence(src Source) Source {
	return &sharedEvidence{CheckAnswers(src), evidence.Cache{Lifetime: 24 * time.Hour, Bytes: 8 << 20}}
}

type sharedEvidence struct {
	Source
	shared evidence.Cache
}

// Unwrap returns the source behind s.
func (s *sharedEvidence) Unwrap() Source { return s.Source }

// Evidence implements [Opener].
func (s *sharedEvidence) Evidence(ctx context.Context, pkg *Package) (verify.Evidence, error) {
	if pkg == nil || pkg.SumsURL == "" {
		return s.Source.Evidence(ctx, pkg)
	}
	key := evidence.Key{Provider: pkg.Provider, Sums: pkg.SumsURL, Signature: pkg.SignatureURL, Via: fmt.Sprintf("%q", pkg.Via)}
	return s.shared.Get(ctx, key, pkg.Evidence(), func(ctx context.Context) (verify.Evidence, error) {
		return s.Source.Evidence(ctx, pkg)
	})
}
