// Package checksum parses, computes and compares hashes of packages. It is meant for 1.0.
//
//	hash, err := checksum.ParseHash("h1:8QKBrlOi/bB0GM3SkD/pOU5kZIzBhOHA4DrQ4E3Dhmk=")
//	packed, tree, err := checksum.H1Zip(ctx, archive, size, checksum.Limits{})
//
// A matching [hash] proves that the package is unchanged; package
// [github.com/tofureg/tofureg/verify] proves who published it.
//
// See https://opentofu.org/docs/language/files/dependency-lock/.
//
// [hash]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#hash
package checksum
