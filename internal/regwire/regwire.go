// Package regwire has the documents of the provider registry protocol, as servers write them.
package regwire

import (
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Platform is a platform in a list of versions.
type Platform struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

// Package is the document about a package.
type Package struct {
	Protocols    []string          `json:"protocols,omitempty"`
	OS           string            `json:"os"`
	Arch         string            `json:"arch"`
	Filename     string            `json:"filename"`
	DownloadURL  string            `json:"download_url"`
	Shasum       string            `json:"shasum"`
	SumsURL      string            `json:"shasums_url"`
	SignatureURL string            `json:"shasums_signature_url"`
	SigningKeys  map[string][]Key  `json:"signing_keys"`
	Packages     map[string]Hashes `json:"packages,omitempty"` // by platform
}

// Key is a key that may have signed the package.
type Key struct {
	ID             string `json:"key_id"`
	Armor          string `json:"ascii_armor"`
	TrustSignature string `json:"trust_signature"`
	Source         string `json:"source"`
	SourceURL      string `json:"source_url"`
}

// Hashes has the hashes of a package, and its size in bytes if that is known.
type Hashes struct {
	Hashes []checksum.Hash `json:"hashes"`
	Size   int64           `json:"package_size,omitempty"`
}

// Describe returns the document about a package, with its URLs as they are.
func Describe(pkg *provider.Package) Package {
	doc := Package{
		Protocols: pkg.Protocols, OS: pkg.Platform.OS(), Arch: pkg.Platform.Arch(), Filename: pkg.Filename, Shasum: pkg.SHA256.Value(),
		DownloadURL: pkg.URL, SumsURL: pkg.SumsURL, SignatureURL: pkg.SignatureURL,
	}
	var keys []Key
	for _, key := range pkg.Keys {
		keys = append(keys, Key{keyID(key), key.Armor, key.TrustSignature, key.Source, key.SourceURL})
	}
	doc.SigningKeys = map[string][]Key{"gpg_public_keys": keys}
	// OpenTofu refuses a document that states hashes, but not the zh and the size of this package.
	if own := pkg.Hashes[pkg.Platform]; len(own) > 0 && pkg.Size > 0 {
		doc.Packages = map[string]Hashes{}
		for on, hashes := range pkg.Hashes {
			doc.Packages[on.String()] = Hashes{Hashes: hashes}
		}
		doc.Packages[pkg.Platform.String()] = Hashes{hashlist.Sorted(own, []checksum.Hash{pkg.SHA256}), pkg.Size}
	}
	return doc
}

// keyID returns the stated ID of a key, or its real ID.
func keyID(key verify.Key) string {
	if key.ID != "" {
		return key.ID
	}
	infos, err := key.Info()
	if err != nil || len(infos) == 0 {
		return ""
	}
	return infos[0].ID
}
