// Package mirrordir fills, checks and reads a mirror in a directory or a bucket. It is meant for 1.0.
//
// OpenTofu and Terraform can use the directory as a [filesystem mirror] or, if a web server serves it,
// as a network mirror. A [Mirror] is filled from any [provider.Source], and is a source itself:
//
//	mirror, err := mirrordir.Open("/srv/mirror")
//	wants := []mirrordir.Want{{Provider: random, Version: v, Platforms: platforms}}
//	added, err := mirror.Add(ctx, registry, wants, mirrordir.AddOptions{})
//	pkg, err := mirror.ProviderPackage(ctx, random, v, addrs.CurrentPlatform())
//	report, err := provider.Download(ctx, mirror, pkg, pkg.ArchiveName(), provider.DownloadOptions{})
//
// # Files
//
//	HOST/NAMESPACE/TYPE/index.json
//	HOST/NAMESPACE/TYPE/VERSION.json
//	HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip
//	HOST/NAMESPACE/TYPE/record_terraform-provider-TYPE_VERSION_OS_ARCH.json
//	HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/
//
// The index lists versions, and the document of a version lists platforms, hashes and URLs; see
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/. The document is the truth about a version, and
// the index follows from the documents. The last line is an unpacked package. HOST is in Unicode, as the CLI writes it.
// Network clients ask for HOST in ASCII: if they differ, serve the mirror with package
// [github.com/tofureg/tofureg/serve/mirrorserve].
//
// [Mirror.Add] writes a record for each archive, with its hashes and the evidence of the source.
// With it the zero [verify.Policy] accepts a signed package also from the mirror. An archive without a
// record is listed as other programs have listed it, and has no evidence; see [Mirror.Reindex].
//
// # Concurrency
//
// Several processes may change a mirror while clients read it. Documents list only complete files, also after a
// crash. A store needs conditional writes.
//
// In a directory, writers hold locks, and a package that is removed or replaced is gone at once. If the store is no
// [storage.Locker], like a bucket, each upload has a name of its own, _NONCE before ".zip" and ".json": no file is ever
// replaced, and removed files stay until [Mirror.Sweep]. Documents say which of the two a mirror is. A copy of
// a bucket in a directory is a mirror.
//
// [filesystem mirror]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#registry-and-mirror
package mirrordir
