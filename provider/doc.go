// Package provider finds, downloads and verifies provider packages from registries,
// mirrors and directories.
//
//	random := addrs.MustParseProvider("hashicorp/random")
//	constraint := addrs.MustParseProviderConstraint("~> 3.6")
//	pkg, err := provider.Find(ctx, src, random, constraint, provider.Need{})
//	report, err := provider.Download(ctx, src, pkg, pkg.ArchiveName(), provider.Options{})
//
// A [Source] is a registry ([regclient.Client]), a network mirror ([mirrorclient.Client]), a
// mirror in a directory ([mirrordir.Open]), or several sources ([Multi], [FirstOf]). [Hashes]
// returns what a lock file records about a version. Package [install] unpacks and installs
// packages.
//
// # Trust
//
// What a source states is not proof. [Download] hashes the archive as it arrives, and stores it
// only if a [verify.Policy] accepts it. The zero policy requires a signature by a key that the
// registry lists.
//
// # Errors
//
// Functions and sources return an [*Error]: one printable line without credentials and URL
// queries. Test its kind with errors.Is and variables such as [ErrNotFound], which match the
// errors of all packages of this module. An [*UnavailableError] tells which versions and
// platforms are listed.
//
// # For sources
//
// Programs that implement, store or serve sources also use: [Receive] and [Received], which are
// [Download] without the decision and the file name; [CheckAnswers] and [ShareEvidence]; [Versions.Find],
// [Versions.Unavailable], [Versions.Clone], [Package.Clone] and [Package.Fits]; [ArchiveName] and [ParseArchiveName];
// [ErrUnpacked] and [ErrExcluded]; [Limiter.Acquire]; and the events that package install adds.
//
// [install]: https://pkg.go.dev/github.com/tofureg/tofureg/provider/install
// [mirrorclient.Client]: https://pkg.go.dev/github.com/tofureg/tofureg/mirrorclient#Client
// [mirrordir.Open]: https://pkg.go.dev/github.com/tofureg/tofureg/mirrorclient/mirrordir#Open
// [regclient.Client]: https://pkg.go.dev/github.com/tofureg/tofureg/regclient#Client
package provider
