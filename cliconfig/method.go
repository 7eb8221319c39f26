package cliconfig

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

// Kind says what a [Method] installs from.
type Kind string

// The kinds of methods, by the names of their blocks.
const (
	Direct           Kind = "direct"            // the registry of the provider
	FilesystemMirror Kind = "filesystem_mirror" // a directory
	NetworkMirror    Kind = "network_mirror"    // a server that speaks the network mirror protocol
	OCIMirror        Kind = "oci_mirror"        // repositories of an OCI registry
)

// A Method is one way to install providers: a block within provider_installation, or
// one of those that hold if there is no such block.
type Method struct {
	// Kind says what the method installs from, and Location where that is.
	Kind     Kind   `json:"kind"`
	Location string `json:"location,omitempty"` // absolute path, URL or repository template; empty for Direct

	// Include and Exclude select the providers, as in [provider.Method]. One that was
	// given a type which no provider can have is the zero Pattern.
	Include []provider.Pattern `json:"include,omitempty"`
	Exclude []provider.Pattern `json:"exclude,omitempty"`

	// DownloadRetries is download_retry_count: how often the transfer of an archive
	// is begun again. Nil: the configuration does not say.
	DownloadRetries *int `json:"download_retries,omitempty"`

	// TrustAllHashes is trust_all_hashes of a network mirror; see
	// [mirrorclient.Client.TrustAllHashes].
	TrustAllHashes bool `json:"trust_all_hashes,omitempty"`

	// Implicit tells that there is no block: a directory that the CLI looks into by
	// itself, or the registries. The latter are then not asked for a provider that
	// one of the directories has, in whatever version.
	Implicit bool `json:"implicit,omitempty"`

	// Place is where the block is; zero if Implicit.
	Place Place `json:"place,omitzero"`

	template template
}

// Selects reports whether the method is asked for a provider.
func (m *Method) Selects(p addrs.Provider) bool {
	matches := func(pattern provider.Pattern) bool { return pattern.Matches(p) }
	return (len(m.Include) == 0 || slices.ContainsFunc(m.Include, matches)) && !slices.ContainsFunc(m.Exclude, matches)
}

// String returns kind and location, as in the names that [provider.Package.Via] has.
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

// Repository returns the address of the repository of a provider, "HOST/NAME", for a
// method of the kind [OCIMirror].
func (m *Method) Repository(p addrs.Provider) string {
	return m.template.expand(p)
}
