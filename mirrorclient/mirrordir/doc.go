// Package mirrordir keeps a mirror of providers: a directory, or whatever else is a
// [Storage], that OpenTofu and Terraform install from.
//
// One directory has two readings. As a filesystem mirror the CLI finds packages in it by
// their names; as the files of a static web server it is a network mirror, whose clients
// ask for documents:
//
//	HOST/NAMESPACE/TYPE/index.json                                       the versions
//	HOST/NAMESPACE/TYPE/VERSION.json                                     platforms, hashes, URLs
//	HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip      the archive
//	HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.record.json
//	HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/                                 an unpacked package
//
// See https://opentofu.org/docs/internals/provider-network-mirror-protocol/ for the
// documents and https://opentofu.org/docs/cli/config/config-file/#provider-installation
// for both kinds of mirrors. A [Mirror] is filled from any [provider.Source], a registry or
// another mirror, and is one itself:
//
//	mirror, err := mirrordir.Open("/srv/mirror")
//	added, err := mirror.Add(ctx, registry, []mirrordir.Want{{Provider: random, Version: v,
//		Platforms: platforms}}, mirrordir.Options{})
//	pkg, err := mirror.ProviderPackage(ctx, random, v, addrs.CurrentPlatform())
//	report, err := provider.Download(ctx, mirror, pkg, pkg.ArchiveName(), provider.Options{})
//
// Package mirrorserve serves a mirror over HTTP, and fills one with what its clients ask for.
//
// # Records
//
// The protocol has no place for signatures. So [Mirror.Add] keeps a record beside each
// archive: its size and hashes, and the SHA256SUMS document, the signature and the keys as
// the registry had them. [Mirror.Evidence] returns these, and the zero verify.Policy accepts
// the archive from the mirror on the same grounds as from the registry, wherever the
// directory has been carried in the meantime. It is one file, written at once, so that sums
// and signature always belong together and to this archive.
//
// # Names
//
// The directory of a host is its name in Unicode, with the port if it has one, as in the
// CLI. Network clients ask for the ASCII form of an internationalised host, so there is a
// second directory of that name with documents whose URLs lead to the first. Windows has no
// colon in file names: there a host with a port is refused with [ErrName].
//
// OpenTofu and Terraform cannot ask a network mirror for providers of a host with a port. They
// fail with "unsupported protocol scheme", and [Mirror.Check] notes such providers as
// [Unreachable]. Use the directory as a filesystem mirror for them.
//
// What is read may be spelled differently: any directory whose name parses to the host, the
// namespace or the type, and any file whose name does to the package. Unlike in the CLI the
// version in a name keeps its case, and a name with more parts than the four is not that of an
// archive.
//
// # Documents
//
// The documents are made from the archives and their records, and are never edited: they list
// what is on record. Of a document that another program has written, two kinds of entries are
// kept: those for files that are no archive of the version here, and those for archives here
// without a record. Other members go, and so do versions in the index without a document.
// [Mirror.Reindex] puts all archives on record.
//
// # Concurrency and crashes
//
// All methods may be called concurrently, and by several processes for one storage, while
// other programs read it. A file appears whole and under its final name or not at all; nothing
// is listed before it is there, and nothing is replaced while it is listed. After a crash the
// mirror is good, and lacks what the call had not come to:
//
//	died after                    then
//	an archive                    Add takes it over with the evidence of the source; Reindex records it without
//	its record                    the next Add of the version, or Reindex, lists it
//	the document of its version   the next Add of the provider puts the version into the index
//	any step of Remove            Remove finishes; Add of other versions does not bring it back
//	any step of a replacement     Add fetches the archive again
//
// Old documents that a web server or client keeps are beyond that.
//
// # Limits
//
// Documents and records may have 16 MiB, archives what checksum.Limits say.
package mirrordir
