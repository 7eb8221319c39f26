// Package addrs parses and compares addresses of providers and modules, versions, constraints and platforms.
// It is meant for 1.0.
//
//	p, err := addrs.ParseProvider("hashicorp/aws")
//	fmt.Println(p) // registry.opentofu.org/hashicorp/aws
//
// Values can be compared with ==. The zero value means "not set"; its text is empty. String and MarshalText return the
// canonical form, which UnmarshalText accepts.
//
// Parsed versions and parts of an [address], except Subdir, are safe in paths and URLs: none is empty or "..", or has a
// separator or control character. Windows may refuse colons before ports.
//
// Versions and constraints follow the CLI, whose rules differ for providers ([ParseVersion], [ProviderConstraint]) and
// modules ([ParseModuleVersion], [ModuleConstraint]).
//
// Every error is a [*ParseError]. Input over 4,096 bytes, or 256 for a version, is refused. [svchost.Parse] must accept
// a default host, as of [ParseProviderIn]; zero means [DefaultHost].
//
// See https://opentofu.org/docs/internals/provider-registry-protocol/,
// https://opentofu.org/docs/internals/module-registry-protocol/ and
// https://opentofu.org/docs/language/expressions/version-constraints/.
//
// [address]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#names
package addrs
