package regclient

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/jsondoc"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

type packageKey struct {
	provider addrs.Provider
	version  addrs.Version
	platform addrs.Platform
}

// ProviderPackage implements [provider.Lister].
func (c *Client) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	key := packageKey{p, v, platform}
	pkg, err := source.FindVersion(v.String(), func(version string) (*provider.Package, error) {
		return c.getPackage(ctx, key, version)
	}, func(refused *failure.RequestError) (string, error) {
		return c.unavailable(ctx, refused, key)
	})
	subject := (&provider.Package{Provider: p, Version: v, Platform: platform}).String()
	return pkg, source.Failed("find", subject, err)
}

// getPackage requests the document about a package. Version is the text of the version.
func (c *Client) getPackage(ctx context.Context, key packageKey, version string) (*provider.Package, error) {
	r, err := c.providerRequest(ctx, key.provider, version, "download", key.platform.OS(), key.platform.Arch())
	if err != nil {
		return nil, err
	}
	r.Limit = maxPackage
	pkg, err := c.packages.Get(ctx, c.http, r, (*provider.Package).Clone, func(_ context.Context, resp *httpx.Response) (*provider.Package, error) {
		return c.decodePackage(resp, key)
	})
	if err == nil {
		pkg.Provider = key.provider // an alias of its host shares the request
	}
	return pkg, err
}

// providerRequest returns the request for a document about p.
func (c *Client) providerRequest(ctx context.Context, p addrs.Provider, parts ...string) (httpx.Request, error) {
	if p.IsBuiltIn() {
		return httpx.Request{}, fmt.Errorf("the provider is part of OpenTofu itself: %w", failure.ErrNotFound)
	}
	c.setup()
	return source.Request(ctx, c.discovery, p.Host(), disco.ProvidersV1, append([]string{p.Namespace(), p.Type()}, parts...)...)
}

// unavailable returns the reason why the registry refused a package, and the listed text of its
// version. Registries answer 404 for an unknown provider, version or platform, and some
// answer 400 or 500. The list of versions shows which one is missing.
func (c *Client) unavailable(ctx context.Context, refused *failure.RequestError, key packageKey) (listed string, reason error) {
	versions, err := c.ProviderVersions(ctx, key.provider)
	if err != nil {
		return "", source.NoList(ctx, refused, "provider", err)
	}
	release, ok := versions.Find(key.version)
	// Without a list of platforms, all may exist.
	offered := ok && (len(release.Platforms) == 0 || slices.Contains(release.Platforms, key.platform))
	if offered && !errors.Is(refused.Err, failure.ErrNotFound) {
		return release.Listed, refused.Err
	}
	return release.Listed, versions.Unavailable(key.version, key.platform)
}

// Limits of a document about a package.
const (
	maxPackage  = 1 << 20 // bytes; many are fetched at the same time
	maxKeys     = 100
	maxHashed   = 1000 // platforms of "packages"
	maxHashes   = 100  // of one of them
	maxFilename = 255  // bytes
)

// The wire form, see wireVersions.
type (
	wirePackage struct {
		Protocols    []string `json:"protocols"`
		OS           string   `json:"os"`
		Arch         string   `json:"arch"`
		Filename     string   `json:"filename"`
		DownloadURL  string   `json:"download_url"`
		Shasum       string   `json:"shasum"`
		SumsURL      string   `json:"shasums_url"`
		SignatureURL string   `json:"shasums_signature_url"`
		SigningKeys  struct {
			Keys []wireKey `json:"gpg_public_keys"`
		} `json:"signing_keys"`
		Packages map[string]wireHashes `json:"packages"`
	}
	wireKey struct {
		ID             wireText `json:"key_id"`
		Armor          string   `json:"ascii_armor"`
		TrustSignature wireText `json:"trust_signature"`
		Source         wireText `json:"source"`
		SourceURL      wireText `json:"source_url"`
	}
	// wireText is empty if it is not a string. The CLI does not read it.
	wireText   string
	wireHashes struct {
		Hashes []string `json:"hashes"`
		Size   int64    `json:"package_size"`
	}
)

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *wireText) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		*t = wireText(httpx.Unquote(data))
	}
	return nil
}

// decodePackage decodes and checks an answer.
func (c *Client) decodePackage(resp *httpx.Response, key packageKey) (*provider.Package, error) {
	if err := jsondoc.CheckMembers(resp.Body, jsondoc.MaxPackage); err != nil {
		return nil, err
	}
	var doc wirePackage
	if err := resp.DecodeObject(&doc); err != nil {
		return nil, err
	}
	if doc.OS != key.platform.OS() || doc.Arch != key.platform.Arch() {
		return nil, fmt.Errorf("the document is for the platform %q, %q", httpx.Clip(doc.OS), httpx.Clip(doc.Arch))
	}
	switch {
	case len(doc.Protocols) > maxProtocols:
		return nil, httpx.TooMany("protocols", maxProtocols)
	case len(doc.SigningKeys.Keys) > maxKeys:
		return nil, httpx.TooMany("keys", maxKeys)
	case !bareName(doc.Filename):
		return nil, fmt.Errorf("filename %q is not a base name", httpx.Clip(doc.Filename))
	}
	pkg := &provider.Package{Provider: key.provider, Version: key.version, Platform: key.platform, Filename: doc.Filename, FromRegistry: true}
	var bad string
	if pkg.Protocols, bad = parseProtocols(doc.Protocols); bad != "" {
		return nil, fmt.Errorf("protocol %q is not a version", httpx.Clip(bad))
	}
	for _, f := range []struct {
		property, ref string
		to            *string
	}{
		{"download_url", doc.DownloadURL, &pkg.URL},
		{"shasums_url", doc.SumsURL, &pkg.SumsURL},
		{"shasums_signature_url", doc.SignatureURL, &pkg.SignatureURL},
	} {
		if f.ref == "" {
			continue // optional
		}
		u, err := c.http.Resolve(resp.URL, f.ref)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.property, err)
		}
		*f.to = u.String()
	}
	switch {
	case pkg.URL == "":
		return nil, errors.New("download_url is missing")
	case doc.Shasum == "":
		return nil, errors.New("shasum is missing, which the CLIs refuse too, whatever SHA256SUMS lists")
	}
	sum, err := hex.DecodeString(doc.Shasum)
	if err != nil || len(sum) != 32 {
		return nil, fmt.Errorf("shasum %q is not a SHA-256 in hexadecimal", httpx.Clip(doc.Shasum))
	}
	pkg.SHA256 = checksum.ZHSum([32]byte(sum))
	for _, k := range doc.SigningKeys.Keys {
		// Each key once. Some registries send entries without a key.
		same := func(o verify.Key) bool { return o.Armor == k.Armor }
		if k.Armor != "" && !slices.ContainsFunc(pkg.Keys, same) {
			pkg.Keys = append(pkg.Keys, verify.Key{
				ID: weburl.Clean(string(k.ID), 100), Armor: k.Armor, TrustSignature: string(k.TrustSignature),
				Source: weburl.Clean(string(k.Source), 200), SourceURL: weburl.Clean(string(k.SourceURL), 2000),
			})
		}
	}
	return pkg, setHashes(pkg, &doc)
}

// bareName reports whether name is empty or a base name.
func bareName(name string) bool {
	return name != "." && name != ".." && len(name) <= maxFilename &&
		!strings.ContainsFunc(name, func(r rune) bool { return r == '/' || r == '\\' || !unicode.IsPrint(r) })
}

// setHashes sets the hashes of all platforms and the size from "packages". It ignores a size of
// 0 and hashes without a value, such as "h1:".
func setHashes(pkg *provider.Package, doc *wirePackage) error {
	if len(doc.Packages) > maxHashed {
		return httpx.TooMany("packages", maxHashed)
	}
	if _, ok := doc.Packages[pkg.Platform.String()]; !ok && len(doc.Packages) > 0 {
		return fmt.Errorf("packages: the requested platform %s is missing", pkg.Platform)
	}
	for name, w := range doc.Packages {
		if len(w.Hashes) > maxHashes {
			return httpx.TooMany("hashes of a package", maxHashes)
		}
		platform, err := addrs.ParsePlatform(name)
		if err != nil {
			continue
		}
		hashes, err := source.ParseHashes(w.Hashes)
		if err == nil && platform == pkg.Platform {
			pkg.Size = w.Size
			other := slices.IndexFunc(hashes, func(h checksum.Hash) bool { return h.Scheme() == checksum.SchemeZH && h != pkg.SHA256 })
			switch {
			case w.Size < 0:
				err = fmt.Errorf("package_size %d is negative", w.Size)
			case other >= 0:
				err = fmt.Errorf("%s differs from shasum", hashes[other])
			case !slices.Contains(hashes, pkg.SHA256):
				err = errors.New("the zh hash is missing")
			}
		}
		if err != nil && platform == pkg.Platform {
			return fmt.Errorf("packages: %s: %w", platform, err)
		}
		if err == nil { // invalid hashes of a platform that was not requested do not matter
			source.SetHashes(&pkg.Hashes, platform, hashes)
		}
	}
	return nil
}

// Evidence implements [provider.Opener].
func (c *Client) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	if pkg == nil {
		return verify.Evidence{}, source.Failed("fetch the evidence of", "", errors.New("the package is missing"))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The first failure cancels the other request. Its error is the cause.
	var once sync.Once
	var first error
	fetch := func(name, ref string, limit int64) []byte {
		data, err := c.document(ctx, pkg, ref, limit)
		if err != nil {
			once.Do(func() {
				first = source.Failed("fetch "+name+" of", pkg.String(), source.Missing(err, provider.ErrNoFile))
			})
			cancel()
		}
		return data
	}
	ev := pkg.Evidence()
	var wg sync.WaitGroup
	wg.Go(func() { ev.Signature = fetch("the signature", pkg.SignatureURL, scheme.MaxSignature) })
	ev.Sums = fetch("the checksums", pkg.SumsURL, scheme.MaxSums)
	wg.Wait()
	if first != nil {
		return verify.Evidence{}, first
	}
	return ev, nil
}

func (c *Client) document(ctx context.Context, pkg *provider.Package, ref string, limit int64) ([]byte, error) {
	if ref == "" {
		return nil, nil // a missing document, not an empty one
	}
	r, err := c.fileRequest(pkg, ref)
	if err != nil {
		return nil, err
	}
	r.Limit = limit
	return c.documents.Get(ctx, c.http, r, bytes.Clone, func(_ context.Context, resp *httpx.Response) ([]byte, error) {
		if len(resp.Body) == 0 { // an empty document is not a missing one
			return nil, verify.ErrEmpty
		}
		return resp.Body, nil
	})
}

// Open implements [provider.Opener].
func (c *Client) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	const op = "fetch"
	switch {
	case pkg == nil:
		return nil, source.Failed(op, "", errors.New("the package is missing"))
	case pkg.Dir != "":
		return nil, source.Failed(op, pkg.String(), provider.ErrUnpacked)
	case pkg.URL == "":
		return nil, source.Failed(op, pkg.String(), errors.New("the package has no URL"))
	}
	r, err := c.fileRequest(pkg, pkg.URL)
	if err != nil {
		return nil, source.Failed(op, pkg.String(), err)
	}
	body, err := source.Open(ctx, c.http, r, op, pkg.String(), provider.ErrNoFile)
	return (*provider.Body)(body), err
}

// fileRequest returns the request for a file of pkg. It checks the URL again, because pkg may
// come from a JSON file.
func (c *Client) fileRequest(pkg *provider.Package, ref string) (httpx.Request, error) {
	c.setup()
	u, err := c.http.Resolve(nil, ref)
	if err != nil {
		return httpx.Request{}, err
	}
	r := httpx.Request{URL: u}
	if host := pkg.Provider.Host(); c.http.MayGoTo(u, host) {
		r.TokenFor = c.discovery.TokenHost(host)
	}
	return r, nil
}
