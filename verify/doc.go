// Package verify decides whether bytes are the provider package that they claim to
// be. It does no I/O of its own: no network, no environment, no files but those
// that it is handed.
//
// # What is signed
//
// The publisher of a provider version makes one archive for each platform, a
// document SHA256SUMS with a line for each archive, and a detached OpenPGP signature
// of that document. The registry states where these are, and which keys may sign. A
// lock file or mirror states hashes of packages, "zh:" for those of archives and
// "h1:" for those of contents. A [Policy] compares all of these with the bytes:
//
//	signature ─ SHA256SUMS ─ line of this file ─ zh of the bytes ─ hashes that the source states
//
//	report, err := verify.Policy{}.Check(ctx, verify.Evidence{
//		Filename: "terraform-provider-random_3.6.0_linux_amd64.zip",
//		Want:     "random_3.6.0_linux_amd64",
//		Sums:     sums, Signature: signature, Keys: keys,
//	}, file, size)
//
// The zero Policy wants the whole chain. Policies for lock files, mirrors and pinned
// keys are a field or two away; see [Policy]. What was reached is in the [Report],
// and [Report.Recordable] is what a lock file may keep of it.
//
// A signature by a key that the registry lists proves that sums and keys come from
// the same place, not that the place is honest: for that, pin the publisher's key by
// its full fingerprint.
//
// # Rules and limits
//
// Whatever arrives is bounded: SHA256SUMS documents 4 MiB, signatures 64 KiB, keys
// 1 MiB each, archives by [checksum.Limits]. No input makes this package panic. Texts of
// errors quote what came from outside, so they can be printed.
//
// The protocol is described at
// https://opentofu.org/docs/internals/provider-registry-protocol/, the hashes at
// https://opentofu.org/docs/language/files/dependency-lock/.
//
// All functions and methods may be called concurrently.
package verify
