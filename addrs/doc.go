// Package addrs has the names that registries work with: provider and module addresses,
// versions, version constraints and platforms.
//
// A provider address is [hostname/][namespace/]type, a module address
// [hostname/]namespace/name/system. What is left out has a default, so that
//
//	p, err := addrs.ParseProvider("hashicorp/aws")
//	if err != nil {
//		return err // a *addrs.ParseError, often with a suggestion
//	}
//	fmt.Println(p) // registry.opentofu.org/hashicorp/aws
//
// names the provider at [DefaultHost]. The functions whose names end in In take another
// default host. See https://opentofu.org/docs/internals/provider-registry-protocol/ and
// https://opentofu.org/docs/internals/module-registry-protocol/ for the addresses, and
// https://opentofu.org/docs/language/expressions/version-constraints/ for constraints.
//
// # Values
//
// All types are small values without pointers to shared state. They are safe for concurrent
// use and comparable with ==: parsing normalises, so two spellings of one name give equal
// values, which also serve as map keys. The only way to get a value is to parse or build it,
// and what was accepted has no empty parts, no parts such as "..", no separators within a part
// and no control characters, so that paths and URLs can be made of it. On Windows, though, the
// colon of a port cannot be part of a directory's name, nor can a directory be named con or nul.
//
// The zero value of each type means "none". It marshals to the empty text, and the empty
// text unmarshals to it. The String method of each type returns the canonical form, which
// MarshalText returns too and the parser of the type accepts.
//
// # Two kinds of versions and constraints
//
// The CLI reads provider versions and module versions with different libraries, which accept
// different spellings and treat prereleases differently. [ParseVersion] is for those of
// providers and [ParseModuleVersion] for those of modules; both give a [Version]. A
// [ProviderConstraint] and a [ModuleConstraint] are different types, because "~> 1", for
// example, allows 2.0.0 of a module only.
//
// # Limits
//
// Input of more than 4096 bytes, or 256 for a version, is refused. No input makes a function
// of this package panic, except those whose names start with Must.
package addrs
