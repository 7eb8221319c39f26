package regclient

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Limits within a package document.
const (
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
		ID    wireID `json:"key_id"`
		Armor string `json:"ascii_armor"`
	}
	// wireID is empty if it is not a string. The CLI does not read it.
	wireID     string
	wireHashes struct {
		Hashes []string `json:"hashes"`
		Size   int64    `json:"package_size"`
	}
)

// UnmarshalJSON implements [json.Unmarshaler].
func (id *wireID) UnmarshalJSON(data []byte) error {
	_ = json.Unmarshal(data, (*string)(id))
	return nil
}

// decodePackage decodes and checks an answer.
func (c *Client) decodePackage(resp *httpx.Response, key packageKey) (*provider.Package, error) {
	if err := httpx.CheckMembers(resp.Body, httpx.MaxPackageMembers); err != nil {
		return nil, err
	}
	var doc wirePackage
	if err := resp.DecodeObject(&doc); err != nil {
		return nil, err
	}
	if doc.OS != key.platform.OS() || doc.Arch != key.platform.Arch() {
		return nil, fmt.Errorf("the document is for the platform %q, %q", httpx.Clip(doc.OS), httpx.Clip(doc.Arch))
	}
	if len(doc.Protocols) > maxProtocols {
		return nil, httpx.TooMany("protocols", maxProtocols)
	}
	pkg := &provider.Package{Provider: key.provider, Version: key.version, Platform: key.platform, FromRegistry: true}
	var bad string
	if pkg.Protocols, bad = parseProtocols(doc.Protocols); bad != "" {
		return nil, fmt.Errorf("protocol %q is not a version", httpx.Clip(bad))
	}
	setURLs := func(pkg *provider.Package, doc *wirePackage) error { return c.setURLs(pkg, doc, resp.URL) }
	for _, set := range []func(*provider.Package, *wirePackage) error{setURLs, setNames, setKeys, setHashes} {
		if err := set(pkg, &doc); err != nil {
			return nil, err
		}
	}
	return pkg, nil
}

func (c *Client) setURLs(pkg *provider.Package, doc *wirePackage, base *url.URL) error {
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
		u, err := c.http.Resolve(base, f.ref)
		if err != nil {
			return fmt.Errorf("%s: %w", f.property, err)
		}
		*f.to = u.String()
	}
	if pkg.URL == "" {
		return errors.New("download_url is missing")
	}
	return nil
}

func setNames(pkg *provider.Package, doc *wirePackage) error {
	if !bareName(doc.Filename) {
		return fmt.Errorf("filename %q is not a base name", httpx.Clip(doc.Filename))
	}
	pkg.Filename = doc.Filename
	sum, err := hex.DecodeString(doc.Shasum)
	if err != nil || len(sum) != 32 {
		return fmt.Errorf("shasum %q is not a SHA-256 in hexadecimal", httpx.Clip(doc.Shasum))
	}
	pkg.SHA256 = checksum.ZHSum([32]byte(sum))
	return nil
}

// bareName reports whether name is empty or a base name.
func bareName(name string) bool {
	return name != "." && name != ".." && len(name) <= maxFilename &&
		!strings.ContainsFunc(name, func(r rune) bool { return r == '/' || r == '\\' || !unicode.IsPrint(r) })
}

// setKeys sets pkg.Keys, each key once. Some registries send entries without a key.
func setKeys(pkg *provider.Package, doc *wirePackage) error {
	if len(doc.SigningKeys.Keys) > maxKeys {
		return httpx.TooMany("keys", maxKeys)
	}
	for _, k := range doc.SigningKeys.Keys {
		key := verify.Key{ID: weburl.Clean(string(k.ID), 100), Armor: k.Armor}
		same := func(o verify.Key) bool { return o.Armor == key.Armor }
		if k.Armor != "" && !slices.ContainsFunc(pkg.Keys, same) {
			pkg.Keys = append(pkg.Keys, key)
		}
	}
	return nil
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
			err = setOwn(pkg, hashes, w.Size)
		}
		switch {
		case err == nil:
		case platform == pkg.Platform:
			return fmt.Errorf("packages: %s: %w", platform, err)
		default:
			// This platform was not requested.
			continue
		}
		source.SetHashes(pkg, platform, hashes)
	}
	return nil
}

// setOwn checks and sets what is stated for the requested package.
func setOwn(pkg *provider.Package, hashes []checksum.Hash, size int64) error {
	if size < 0 {
		return fmt.Errorf("package_size %d is negative", size)
	}
	pkg.Size = size
	for _, h := range hashes {
		if h.Scheme() == pkg.SHA256.Scheme() && h != pkg.SHA256 {
			return fmt.Errorf("%s differs from shasum", h)
		}
	}
	return nil
}
