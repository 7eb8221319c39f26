package oci

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// mirror implements [Client.Mirror].
type mirror struct {
	client     *Client
	repository func(addrs.Provider) string
}

// ProviderVersions implements [provider.Lister]. As in OpenTofu, it ignores tags that are not
// versions.
func (m *mirror) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	failed := func(err error) (*provider.Versions, error) {
		return nil, &failure.Error{Op: "list versions of", Subject: p.String(), Err: err}
	}
	repo, err := m.client.repository(m.repository(p))
	if err != nil {
		return failed(err)
	}
	ctx = job(ctx)
	found := map[addrs.Version]bool{}
	err = repo.Tags(ctx, "", func(tags []string) error {
		for _, name := range tags {
			v, err := addrs.ParseVersion(strings.ReplaceAll(name, "_", "+"))
			if err == nil && tag(v) == name { // otherwise ProviderPackage cannot find it
				found[v] = true
			}
		}
		if len(found) > maxVersions {
			return fmt.Errorf("%w: more than %d versions", failure.ErrTooLarge, maxVersions)
		}
		return nil
	})
	if err != nil {
		return failed(explain(ctx, err))
	}
	versions := &provider.Versions{Provider: p}
	for v := range found {
		versions.Versions = append(versions.Versions, provider.Release{Version: v})
	}
	slices.SortFunc(versions.Versions, func(a, b provider.Release) int { return b.Version.Compare(a.Version) })
	return versions, nil
}

// tag returns the tag of a version.
func tag(v addrs.Version) string { return strings.ReplaceAll(v.String(), "+", "_") }

// ProviderPackage implements [provider.Lister].
func (m *mirror) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg := &provider.Package{Provider: p, Version: v, Platform: on}
	failed := func(err error) (*provider.Package, error) {
		return nil, &failure.Error{Op: "find", Subject: pkg.String(), Err: err}
	}
	repo, err := m.client.repository(m.repository(p))
	if err != nil {
		return failed(err)
	}
	ctx = job(ctx)
	desc, err := repo.Resolve(ctx, tag(v))
	if err != nil {
		err = explain(ctx, err)
		if errors.Is(err, failure.ErrNotFound) {
			err = fmt.Errorf("%w: repository %s has no tag %q", failure.ErrNoVersion, m.repository(p), tag(v))
		}
		return failed(err)
	}
	layer, err := providerLayer(ctx, repo, desc, on)
	if e, ok := errors.AsType[*noPlatform](err); ok {
		return failed(&provider.UnavailableError{
			Provider: p, Constraint: addrs.ExactProviderConstraint(v), Need: provider.Need{Platforms: []addrs.Platform{on}},
			Allowed: v, Platforms: e.others, Err: provider.ErrNoPlatform,
		})
	}
	if err != nil {
		return failed(explain(ctx, err))
	}
	if pkg.SHA256, err = checksum.ParseHash("zh:" + layer.Digest.Encoded()); err != nil {
		return failed(err)
	}
	pkg.Filename, pkg.Size = pkg.ArchiveName(), layer.Size
	pkg.URL = blobURL(m.repository(p), layer.Digest)
	return pkg, nil
}

func blobURL(repository string, d digest.Digest) string {
	host, name, _ := strings.Cut(repository, "/")
	return "https://" + host + "/v2/" + name + "/blobs/" + d.String()
}

// Evidence implements [provider.Opener]. There are no signatures.
func (m *mirror) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	return pkg.Evidence(), nil
}

// Open implements [provider.Opener].
func (m *mirror) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	failed := func(err error) (*provider.Body, error) {
		return nil, &failure.Error{Op: "fetch", Subject: pkg.String(), Err: err}
	}
	if pkg == nil {
		return failed(errors.New("the package is missing"))
	}
	d := digest.NewDigestFromEncoded(digest.SHA256, pkg.SHA256.Value())
	desc := ocispec.Descriptor{MediaType: typeZip, Digest: d, Size: pkg.Size}
	if pkg.SHA256.IsZero() || checkDescriptor(desc) != nil || pkg.URL != blobURL(m.repository(pkg.Provider), d) {
		return failed(errors.New("the package is not from this mirror"))
	}
	repo, err := m.client.repository(m.repository(pkg.Provider))
	if err != nil {
		return failed(err)
	}
	b, err := m.client.openBlob(job(ctx), repo, desc)
	if errors.Is(err, failure.ErrNotFound) {
		err = fmt.Errorf("%w: %w", provider.ErrNoFile, err)
	}
	if err != nil {
		return failed(err)
	}
	return &provider.Body{ReadCloser: b, Size: pkg.Size, Resumes: b.resumes}, nil
}
