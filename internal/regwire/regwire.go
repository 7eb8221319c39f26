// Package regwire has the documents of the provider registry protocol, as servers write them.
package regwire

import "github.com/tofureg/tofureg/verify/checksum"

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
