// Package provider finds, downloads and verifies provider packages of any source. It is meant for 1.0.
//
//	random := addrs.MustParseProvider("hashicorp/random")
//	constraint := addrs.MustParseProviderConstraint("~> 3.6")
//	pkg, err := provider.Find(ctx, src, random, constraint, provider.Need{})
//	report, err := provider.Download(ctx, src, pkg, pkg.ArchiveName(), provider.DownloadOptions{})
//
// A [Source] is a registry ([regclient.Client]), a network mirror ([mirrorclient.Client]), a mirror in a directory
// ([mirrordir.Open]), or several sources ([Multi]). Package [install] installs packages. [Hashes] is for lock files.
//
// [Evidence] proves what a source states, such as [hashes]: a SHA256SUMS document, its signature, and the keys. The zero
// [verify.Policy] requires a signature by a key that the registry lists. Network mirrors have none: set
// [verify.Policy.Accept] or [verify.Policy.AllowUnsigned].
//
// Sources, and functions that call them, return an [*failure.Error], or several joined: one printable line without
// credentials and URL queries. Test with errors.Is and variables of [failure].
//
// [install]: https://pkg.go.dev/github.com/tofureg/tofureg/provider/install
// [mirrorclient.Client]: https://pkg.go.dev/github.com/tofureg/tofureg/mirrorclient#Client
// [mirrordir.Open]: https://pkg.go.dev/github.com/tofureg/tofureg/serve/mirrordir#Open
// [regclient.Client]: https://pkg.go.dev/github.com/tofureg/tofureg/regclient#Client
// [hashes]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#hash
// [Evidence]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#evidence
package provider
