// Package verify decides whether an archive is the provider package that it claims to be, by checksums and OpenPGP
// signatures, without requests. It is meant for 1.0.
//
//	report, err := verify.Policy{}.Check(ctx, verify.Evidence{
//		Filename:  "terraform-provider-random_3.6.0_linux_amd64.zip",
//		Requested: "random_3.6.0_linux_amd64",
//		Sums:      sums, Signature: signature, Keys: keys,
//	}, file, size)
//
// The publisher of a version signs its SHA256SUMS document. The registry serves both and lists the keys: the
// [evidence]. What a source says without a signature is stated. Lock files and mirrors have [hashes].
//
// A signature by a listed key proves only that document and key come from the same registry. To prove who published a
// package, set [Policy.Fingerprints].
//
// The method depends on what the caller has:
//
//   - an open file: [Policy.Check]
//   - an archive to hash: [Policy.Examine]
//   - computed hashes: [Policy.Judge], [Policy.JudgeDirectory]
//   - a description, before a download: [Policy.JudgeOffer]
//   - stated hashes without the archive: [Policy.CheckSums], [CheckedSums.JudgeStated]
//
// Errors escape the untrusted text that they quote.
//
// See https://opentofu.org/docs/internals/provider-registry-protocol/ and
// https://opentofu.org/docs/language/files/dependency-lock/.
//
// [evidence]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#evidence
// [hashes]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#hash
package verify
