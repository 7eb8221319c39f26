// Package checksum parses, computes and compares hashes of packages. It is meant for 1.0.
//
//	hash, err := checksum.ParseHash("h1:8QKBrlOi/bB0GM3SkD/pOU5kZIzBhOHA4DrQ4E3Dhmk=")
//	packed, tree, err := checksum.H1Zip(ctx, archive, size, checksum.Limits{})
//
// A matching [hash] proves that the package is unchanged; package
// [github.com/tofureg/tofureg/verify] proves who published it.
//
// # For sources
//
// Programs that handle lists of hashes use [WithScheme], [HasScheme], [Overlap] and [Sorted]; those
// that write packages use [ZHSum] and [H1Sum].
//
// See https://opentofu.org/docs/language/files/dependency-lock/.
//
// [hash]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#hash
package checksum
