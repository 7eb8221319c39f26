// Package provider finds, downloads and verifies provider packages from registries,
// mirrors and directories.
//
//	random := addrs.MustParseProvider("hashicorp/random")
//	pkg, err := provider.Find(ctx, src, random, addrs.MustParseProviderConstraint("~> 3.6"), provider.Need{})
//	report, err := provider.Download(ctx, src, pkg, pkg.ArchiveName(), provider.Options{})
//
// A [Source] has two halves. A [Lister] tells which versions of a provider there are and
// describes the [Package] of a version for a platform. A [Fetcher] brings the archive and
// the evidence about it: the SHA256SUMS document and its signature. Package regclient has
// the source for registries, package mirrorclient the one for network mirrors, and package
// mirrordir the one for mirrors on disk. [Multi] and [FirstOf] combine several sources.
//
// # Choosing
//
// [Versions.Newest] chooses by version alone, as the OpenTofu CLI does.
// [Versions.NewestFor] also wants a package for some platforms and a plugin protocol that
// the caller speaks. If a source does not list platforms or protocols for a version, the
// version is assumed to fit. If no version fits, an [*UnavailableError] tells what there is.
//
// # Lock files
//
// [Hashes] returns what a lock file records about a version, for any number of platforms.
// It downloads only what the policy and the [HashStore] make necessary.
//
// # Trust
//
// What a source states is not proof. [Download] hashes the bytes as they arrive, and a
// [verify.Policy] judges them. A file gets its name only after the policy has accepted it.
// The zero policy is strict.
//
// # Errors
//
// Functions and sources return an [*Error]. Its text is one line without control
// characters, credentials and query strings. Use errors.Is with the variables, such as
// [ErrNotFound]; they match across all packages of the module.
package provider
