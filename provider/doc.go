// Package provider is what a provider package is, whatever source it comes from,
// and how to get one that can be trusted.
//
// A [Source] is asked twice. [Lister] tells which versions of a provider there are
// and, for one of them and a platform, where its archive is: a [Package]. [Fetcher]
// brings the archive and the evidence about it: a SHA256SUMS document with the
// digest of the archive, and a signature over that document. Package regclient
// holds the source for registries, see
// https://opentofu.org/docs/internals/provider-registry-protocol/, package
// mirrorclient the one for network mirrors, and package mirrordir the one for
// mirrors on disk. [Multi] and [FirstOf] make one source of several.
//
// From a name to a verified file:
//
//	random := addrs.MustParseProvider("hashicorp/random")
//	pkg, err := provider.Find(ctx, src, random, addrs.MustParseProviderConstraint("~> 3.6"), provider.Need{})
//	report, err := provider.Download(ctx, src, pkg, pkg.ArchiveName(), provider.Options{})
//
// # Choosing
//
// [Versions.Newest] chooses by version alone, as the OpenTofu CLI does.
// [Versions.NewestFor] also wants a package for a platform and a plugin protocol
// that the caller speaks. What a source does not tell about a version never rules
// it out. If nothing is left, an [*UnavailableError] says what there is instead.
//
// # Lock files
//
// [Hashes] returns what a lock file has to know about a version for any number of
// platforms, and downloads no more than the policy of the caller demands. What has been
// computed once can be kept in a [HashStore], such as that of package hashstore.
//
// # Trust
//
// What a source states is not proof. [Download] hashes the bytes as they arrive and
// hands hash and evidence to a verify.Policy; a file appears under its name only
// after the policy has accepted it. The zero policy is strict.
//
// # Errors
//
// Functions and sources return an [*Error], whose text is one line that is safe to
// print: no control characters, no credentials, no query strings. Branch on the
// sentinels, such as [ErrNotFound], with errors.Is; they match across all packages of
// the module.
package provider
