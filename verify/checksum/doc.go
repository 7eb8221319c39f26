// Package checksum computes and compares the hashes of provider and module packages:
// zh, the SHA-256 of an archive, and h1, a hash of the names and contents of its files.
// Lock files and mirrors state packages by these hashes.
//
//	hash, err := checksum.ParseHash("h1:8QKBrlOi/bB0GM3SkD/pOU5kZIzBhOHA4DrQ4E3Dhmk=")
//	packed, tree, err := checksum.H1Zip(ctx, archive, size, checksum.Limits{})
//
// A matching hash proves that bytes are the ones that were hashed before. It does not
// prove who made them; package [github.com/tofureg/tofureg/verify] checks signatures. This
// package links no OpenPGP code.
//
// The schemes are described at
// https://opentofu.org/docs/language/files/dependency-lock/.
//
// All functions may be called concurrently.
package checksum
