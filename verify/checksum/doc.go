// Package checksum parses, computes and compares the hashes of provider and module packages in
// lock files and mirrors.
//
//	hash, err := checksum.ParseHash("h1:8QKBrlOi/bB0GM3SkD/pOU5kZIzBhOHA4DrQ4E3Dhmk=")
//	packed, tree, err := checksum.H1Zip(ctx, archive, size, checksum.Limits{})
//
// There are two schemes: zh is the SHA-256 of an archive, and h1 is a hash of the names and
// contents of its files. A matching hash proves that the bytes are unchanged. Package
// [github.com/tofureg/tofureg/verify] proves who published them.
//
// All functions are safe for concurrent use.
//
// See https://opentofu.org/docs/language/files/dependency-lock/.
package checksum
