// Package mirrorclient is the client of network mirrors. It is meant for 1.0.
//
// A [Client] is a [github.com/tofureg/tofureg/provider.Source] for one base URL, from which a
// [mirror] serves providers of any host:
//
//	mirror := &mirrorclient.Client{BaseURL: "https://mirror.example.com/providers/"}
//	versions, err := mirror.ProviderVersions(ctx, addrs.MustParseProvider("hashicorp/random"))
//	version, err := versions.Newest(addrs.MustParseProviderConstraint("~> 3.6"))
//	pkg, err := mirror.ProviderPackage(ctx, versions.Provider, version, addrs.CurrentPlatform())
//	policy := verify.Policy{AllowUnsigned: true}
//	report, err := provider.Download(ctx, mirror, pkg, pkg.ArchiveName(), provider.DownloadOptions{Policy: policy})
//
// See https://opentofu.org/docs/internals/provider-network-mirror-protocol/.
//
// # Trust
//
// The protocol has no signatures, so the zero [github.com/tofureg/tofureg/verify.Policy] accepts no package. Set one of
// three fields:
//
//   - Accept, with the hashes of a lock file: the mirror need not be trusted.
//   - AllowUnsigned: the archive must match a hash that the mirror states. The mirror is trusted.
//   - AllowUnchecked: the same, but if the mirror states no hashes for any platform, nothing is checked.
//
// # Tokens
//
// The client sends the token of the mirror's host and port (none for an IPv6 address) with requests for the mirror's
// documents, and for archives if PackageCredentials of [transport.Settings] allows it. It sends none over http, or after
// a redirect to another host or port.
//
// # Limits and errors
//
// A document must be application/json. It has at most 16 MiB (of a version: 1 MiB), 100,000 versions, 1,000 platforms,
// and 100 hashes for each platform; more is [failure.ErrTooLarge].
//
// Errors are as in package [github.com/tofureg/tofureg/provider]. An error about an invalid document wraps no variable.
//
// [mirror]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#registry-and-mirror
package mirrorclient
