// Package verify decides whether an archive is the provider package that it claims to
// be. It uses no network, no environment and no files except those that the caller opens.
//
// The publisher of a provider version makes one archive for each platform, a document
// SHA256SUMS with a line for each archive, and a detached OpenPGP signature of that
// document. The registry states where these are and which keys may sign. Lock files and
// mirrors state hashes of packages: "zh:" of the archive, "h1:" of its content. A [Policy]
// compares all of these with the bytes:
//
//	signature ─ SHA256SUMS ─ line of this file ─ zh of the bytes ─ hashes that the source states
//
//	report, err := verify.Policy{}.Check(ctx, verify.Evidence{
//		Filename: "terraform-provider-random_3.6.0_linux_amd64.zip",
//		Want:     "random_3.6.0_linux_amd64",
//		Sums:     sums, Signature: signature, Keys: keys,
//	}, file, size)
//
// The zero Policy wants the whole chain. Its fields serve lock files, mirrors and pinned
// keys. The [Report] tells what the acceptance rests on, and [Report.Recordable] what a
// lock file may record.
//
// A signature by a key that the registry lists proves that sums and keys come from the
// same place. It does not prove that the place is honest: pin the publisher's key by its
// full fingerprint for that.
//
// # The judge
//
// One place decides, whatever the caller has:
//
//   - the description of a package: [Policy.JudgeOffer], before anything is fetched
//   - an archive: [Policy.JudgeArchive], or [Policy.Check] for an open file
//   - a directory, or hashes that were computed before: [Policy.Judge]
//   - hashes that a source only states: [Policy.CheckSums] once for a version, then
//     [CheckedSums.JudgeStated] for each platform
//
// # Limits
//
// SHA256SUMS documents may have 4 MiB, signatures 64 KiB, keys 1 MiB each; archives are
// bounded by [checksum.Limits]. Errors quote what came from outside, so they can be printed.
//
// The protocol is described at
// https://opentofu.org/docs/internals/provider-registry-protocol/, the hashes at
// https://opentofu.org/docs/language/files/dependency-lock/.
//
// All functions and methods may be called concurrently.
package verify
