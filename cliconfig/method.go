package cliconfig

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

// A Kind is the kind of a [Method].
type Kind string

// The kinds of methods, named like their blocks.
const (
	Direct           Kind = "direct"            // the registry of the provider
	FilesystemMirror Kind = "filesystem_mirror" // a directory
	NetworkMirror    Kind = "network_mirror"    // a server with the network mirror protocol
	OCIMirror        Kind = "oci_mirror"        // repositories of an OCI registry
)

// A Method is an installation method for providers.
type Method struct {
	Kind Kind `json:"kind"` // name of the block

	// Location is an absolute path, a URL or a repository template. It is empty for Direct.
	Location string `json:"location,omitempty"`

	// Include and Exclude select the providers, as in [provider.Method].
	Include []provider.Pattern `json:"include,omitempty"`
	Exclude []provider.Pattern `json:"exclude,omitempty"`

	// DownloadRetries is download_retry_count, or nil if it is not configured.
	DownloadRetries *int `json:"download_retries,omitempty"`

	// TrustAllHashes is trust_all_hashes of a network mirror, see [mirrorclient.Client].
	TrustAllHashes bool `json:"trust_all_hashes,omitempty"`

	// Implicit is true for a method without a block, see [Config.ProviderSource].
	Implicit bool `json:"implicit,omitempty"`

	// Place is the place of the block.
	Place Place `json:"place,omitzero"`

	template template
}

// Selects reports whether the method is used for a provider.
func (m *Method) Selects(p addrs.Provider) bool {
	matches := func(pattern provider.Pattern) bool { return pattern.Matches(p) }
	return (len(m.Include) == 0 || slices.ContainsFunc(m.Include, matches)) && !slices.ContainsFunc(m.Exclude, matches)
}

// String returns kind and location.
func (m *Method) String() string {
	if m.Location == "" {
		return string(m.Kind)
	}
	location := m.Location
	if u, err := url.Parse(location); m.Kind == NetworkMirror && err == nil {
		u.User, u.RawQuery = nil, ""
		location = u.String()
	}
	return string(m.Kind) + " " + printable(strings.ReplaceAll(location, " > ", ">"))
}

// Repository returns the provider's repository, "HOST/NAME", for a method of kind
// [OCIMirror].
func (m *Method) Repository(p addrs.Provider) string {
	return m.template.expand(p)
}
