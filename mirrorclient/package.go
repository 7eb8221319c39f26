package mirrorclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/jsondoc"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Limits of the document of a version.
const (
	maxPlatforms = 1000
	maxHashes    = 100 // for each platform
)

// ProviderPackage finds a package ("List Available Installation Packages" of the protocol), with the hashes that the
// mirror states for all platforms.
//
// Errors are as of [provider.Lister]. If the document of the version is missing, one more request tells why. If the
// mirror lists the version all the same, the error wraps none of them.
func (c *Client) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	subject := (&provider.Package{Provider: p, Version: v, Platform: platform}).String()
	if v.IsZero() || platform.IsZero() {
		return nil, source.Failed("find", subject, errors.New("the version or the platform is missing"))
	}
	doc, err := source.FindVersion(v.String(), func(version string) (*versionDocument, error) {
		return c.document(ctx, p, version)
	}, func(refused *failure.RequestError) (string, error) {
		return c.missing(ctx, refused, p, v, platform)
	})
	if err != nil {
		return nil, source.Failed("find", subject, err)
	}
	pkg, err := c.pick(doc, p, v, platform)
	return pkg, source.Failed("find", subject, err)
}

// missing returns why the mirror does not have the document of a version.
func (c *Client) missing(ctx context.Context, refused *failure.RequestError, p addrs.Provider, v addrs.Version, platform addrs.Platform) (listed string, reason error) {
	versions, err := c.ProviderVersions(ctx, p)
	absent := errors.Is(refused.Err, failure.ErrNotFound)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, failure.ErrNotFound):
		return "", fmt.Errorf("the mirror does not have the provider: %w", failure.ErrNotFound)
	case err != nil && absent:
		return "", fmt.Errorf("%w; its versions cannot be listed: %v", failure.ErrNoVersion, err)
	case err != nil:
		return "", source.Cause(refused, "provider")
	}
	release, ok := versions.Find(v)
	if !ok {
		return "", versions.Unavailable(v, platform)
	}
	if absent {
		// The error does not wrap ErrNoVersion: the mirror is incomplete.
		return release.Listed, errors.New("the mirror lists the version, but its document is missing")
	}
	return release.Listed, refused.Err
}

// versionDocument is shared by concurrent calls and must not be changed.
type versionDocument struct {
	resp     *httpx.Response // without its body
	archives map[string]json.RawMessage
}

func (c *Client) document(ctx context.Context, p addrs.Provider, version string) (*versionDocument, error) {
	r, err := c.request(p, version+".json")
	if err != nil {
		return nil, err
	}
	r.Limit = maxVersion
	return c.documents.Get(ctx, c.http, r, nil, func(_ context.Context, resp *httpx.Response) (*versionDocument, error) {
		archives, err := decodeDocument(resp)
		if err != nil {
			return nil, err
		}
		bare := *resp
		bare.Body = nil
		return &versionDocument{&bare, archives}, nil
	})
}

type (
	// wireDocument also has a member of a registry's answer, to recognise one.
	wireDocument struct {
		Archives    json.RawMessage `json:"archives"`
		DownloadURL json.RawMessage `json:"download_url"`
	}
	wireArchive struct {
		URL    string   `json:"url"`
		Hashes []string `json:"hashes"`
	}
)

func decodeDocument(resp *httpx.Response) (map[string]json.RawMessage, error) {
	var doc wireDocument
	if err := decode(resp, jsondoc.MaxPackage, &doc); err != nil {
		return nil, err
	}
	if isNull(doc.Archives) {
		if !isNull(doc.DownloadURL) {
			return nil, errors.New(hintRegistry)
		}
		return nil, nil // a version without packages
	}
	if doc.Archives[0] != '{' {
		return nil, errors.New("archives is not an object")
	}
	var archives map[string]json.RawMessage
	if err := httpx.DecodeObject(doc.Archives, &archives); err != nil {
		return nil, fmt.Errorf("archives: %w", err)
	}
	if len(archives) > maxPlatforms {
		return nil, httpx.TooMany("platforms", maxPlatforms)
	}
	return archives, nil
}

// pick returns the package for one platform.
func (c *Client) pick(doc *versionDocument, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	raw, ok := doc.archives[platform.String()]
	if !ok {
		return nil, doc.resp.Fail(&provider.UnavailableError{
			Provider: p, Constraint: addrs.ExactProviderConstraint(v), Need: provider.Need{Platforms: []addrs.Platform{platform}},
			Allowed: v, Platforms: doc.platforms(), Err: provider.ErrNoPlatform,
		})
	}
	pkg := &provider.Package{Provider: p, Version: v, Platform: platform}
	if err := c.setArchive(pkg, raw, doc); err != nil {
		return nil, doc.resp.Unusable(fmt.Errorf("archives: %s: %w", platform, err))
	}
	for name, raw := range doc.archives {
		other, err := addrs.ParsePlatform(name)
		if err != nil || other == platform {
			continue
		}
		// An invalid entry for another platform does not affect this package.
		var archive wireArchive
		if json.Unmarshal(raw, &archive) == nil {
			if hashes, err := parseHashes(archive.Hashes); err == nil {
				source.SetHashes(&pkg.Hashes, other, hashes)
			}
		}
	}
	if c.TrustAllHashes {
		source.SetHashes(&pkg.Hashes, platform, allHashes(pkg))
	}
	return pkg, nil
}

// allHashes returns the hashes for all platforms. Of each scheme one must match, so it leaves out the
// schemes that the platform of pkg lacks, unless that has no hash to compare.
func allHashes(pkg *provider.Package) []checksum.Hash {
	own := pkg.Hashes[pkg.Platform]
	all := hashlist.Sorted(slices.Collect(maps.Values(pkg.Hashes))...)
	if !slices.ContainsFunc(own, hashlist.Known) {
		return all
	}
	return slices.DeleteFunc(all, func(h checksum.Hash) bool { return !hashlist.Has(own, h.Scheme()) })
}

// setArchive sets the URL and the hashes for the platform of pkg.
func (c *Client) setArchive(pkg *provider.Package, raw json.RawMessage, doc *versionDocument) error {
	var archive wireArchive
	if err := httpx.DecodeObject(raw, &archive); err != nil {
		return err
	}
	if archive.URL == "" {
		return errors.New("url is missing")
	}
	u, err := c.http.Resolve(doc.resp.URL, archive.URL)
	if err != nil {
		return fmt.Errorf("url: %w", err)
	}
	if itself := doc.resp.URL; u.Host == itself.Host && u.Path == itself.Path &&
		(u.RawQuery == "" || u.RawQuery == itself.RawQuery) {
		return errors.New("url is the URL of the document itself")
	}
	hashes, err := parseHashes(archive.Hashes)
	if err != nil {
		return err
	}
	pkg.URL = u.String()
	source.SetHashes(&pkg.Hashes, pkg.Platform, hashes)
	return nil
}

func parseHashes(list []string) ([]checksum.Hash, error) {
	if len(list) > maxHashes {
		return nil, httpx.TooMany("hashes", maxHashes)
	}
	return source.ParseHashes(list)
}

// platforms returns the platforms that have an archive, sorted.
func (d *versionDocument) platforms() []addrs.Platform {
	var list []addrs.Platform
	for name := range d.archives {
		if platform, err := addrs.ParsePlatform(name); err == nil {
			list = append(list, platform)
		}
	}
	slices.SortFunc(list, addrs.Platform.Compare)
	return list
}

// Evidence returns the hashes in pkg. It refuses a package with SumsURL or SignatureURL.
func (c *Client) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	const op = "fetch the evidence of"
	switch {
	case pkg == nil:
		return verify.Evidence{}, source.Failed(op, "", errors.New("the package is missing"))
	case pkg.SumsURL != "" || pkg.SignatureURL != "":
		return verify.Evidence{}, source.Failed(op, pkg.String(), errors.New("the package has checksums or a signature, so it is not from a mirror"))
	}
	return pkg.Evidence(), nil
}

// Open implements [provider.Opener].
func (c *Client) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	const op = "fetch"
	if pkg == nil {
		return nil, source.Failed(op, "", errors.New("the package is missing"))
	}
	if pkg.URL == "" {
		return nil, source.Failed(op, pkg.String(), provider.ErrUnpacked)
	}
	r, err := c.archiveRequest(pkg.URL)
	if err != nil {
		return nil, source.Failed(op, pkg.String(), err)
	}
	body, err := source.Open(ctx, c.http, r, op, pkg.String(), provider.ErrNoFile)
	return (*provider.Body)(body), err
}

// archiveRequest returns the request for an archive. It checks the URL again, since the caller may
// have read the package from a file.
func (c *Client) archiveRequest(ref string) (httpx.Request, error) {
	c.setup()
	if c.baseErr != nil {
		return httpx.Request{}, c.baseErr
	}
	u, err := c.http.Resolve(nil, ref)
	if err != nil {
		return httpx.Request{}, err
	}
	r := httpx.Request{URL: u}
	if c.http.MayGoTo(u, c.host) {
		r.TokenFor = c.host
	}
	return r, nil
}
