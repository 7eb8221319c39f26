// Package mirrorclient is the client of network mirrors. It finds and downloads provider packages. It is meant for
// 1.0.
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
// The protocol has no signatures, so the zero [github.com/tofureg/tofureg/verify.Policy] accepts no
// package from a mirror. Set one of three fields:
//
//   - Accept, with the hashes of a lock file: the mirror need not be trusted.
//   - AllowUnsigned: the archive must match a hash that the mirror states. The mirror is trusted.
//   - AllowUnchecked: the same, but a mirror may also state no hashes for any platform. Then
//     nothing is checked.
//
// Of several hashes of one scheme, one must match. Hashes for other platforms do not accept a package,
// unless [Client].TrustAllHashes is set.
//
// # Tokens
//
// The client sends the token of the mirror's host and port (none for an IPv6 address) to the mirror's
// documents, and to archives only if PackageCredentials of [transport.Settings] allows their URL. It sends
// none over http, or after a redirect to another host or port.
//
// # Limits and errors
//
// A document must have the media type application/json. It may have at most 16 MiB (of a version:
// 1 MiB), 100,000 versions, 1,000 platforms, and 100 hashes for each platform; more is
// [github.com/tofureg/tofureg/failure.ErrTooLarge].
//
// Each error is a [*failure.Error]. It can wrap a variable of
// package provider, such as ErrNotFound. Other failures, such as an invalid document, wrap none.
//
// [mirror]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#registry-and-mirror
package mirrorclient
