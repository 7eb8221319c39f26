// Package mirrordir fills, checks and reads a mirror in a directory or a bucket. It is meant for 1.0.
//
// OpenTofu and Terraform use the directory as a [filesystem mirror] or, behind a web server, as a network mirror. A
// [Mirror] is filled from any [provider.Source], and is one itself:
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
// The index lists versions, and the document of a version platforms, hashes and URLs; see
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/. The last line is an unpacked package. HOST is
// in Unicode, as the CLI writes it, but network clients ask for ASCII: if they differ, serve the mirror with package
// [github.com/tofureg/tofureg/serve/mirrorserve].
//
// [Mirror.Add] records the hashes of each archive and the evidence of the source, so the zero [verify.Policy] accepts a
// signed package also from the mirror. Archives of other programs stay listed as they are, without record and evidence;
// see [Mirror.Reindex].
//
// # Concurrency
//
// Several processes may change a mirror while clients read it. Documents list only complete files, also after a crash.
//
// In a directory, writers hold locks, and a removed or replaced package is gone at once. In a store without locks
// ([storage.Locker]), like a bucket, each upload has a name of its own, with _NONCE before ".zip" and ".json"; removed
// and replaced files stay until [Mirror.Sweep]. A copy of a bucket in a directory is a mirror.
//
// [filesystem mirror]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#registry-and-mirror
package mirrordir
