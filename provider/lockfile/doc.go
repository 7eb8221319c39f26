// Package lockfile reads, merges and writes dependency lock files, which the CLI
// keeps as .terraform.lock.hcl beside a configuration. For each provider such a file
// has the selected version, the constraint that led to it, and hashes of the packages
// that may be installed:
//
//	provider "registry.opentofu.org/hashicorp/random" {
//	  version     = "3.6.0"
//	  constraints = "~> 3.6"
//	  hashes = [
//	    "h1:R5Ucn26riKIEijcsiOMBR3uOAjuOMfI1x7XvH4P6B1w=",
//	    "zh:03360ed3ecd31e8c5dac9c95fe0858be50f3e9a0d0c654b5e504109c2159287d",
//	  ]
//	}
//
// From a lock file to a policy, and from a report back to the lock file:
//
//	lock, err := lockfile.Load(lockfile.Name)
//	if lock.Covers(p, version) {
//		policy.Accept = lock.Accept(p, version)
//	}
//	// … a verified download …
//	err = lock.Merge(p, version, constraint, report)
//	err = lock.Save(lockfile.Name)
//
// The format is described at
// https://opentofu.org/docs/language/files/dependency-lock/.
//
// # Two ways to read
//
// [Parse] and [Load] are as strict as the CLI: addresses, versions and constraints
// must be in canonical form, hashes must be well-formed, and nothing unknown may stand
// in the file. What a [File] from them writes is what the CLI writes, byte for byte,
// under the header comment that the file had; other comments are lost, as the CLI
// loses them.
//
// [ParseLenient] and [LoadLenient] are for tools that edit files which people have
// edited. They take what they understand and leave the rest of the file as it is, with
// its comments, order and unknown content. [File.Warnings] lists what was passed over.
//
// # Differences from the CLI
//
// Where the CLI would evaluate an expression, only a literal is accepted: a text in
// double quotes, or a list of them. A hash of the schemes zh and h1 must have the form
// of these, while those of other schemes are kept as they are. What stands in a block
// for a module, which the CLI ignores, is not checked.
//
// # Limits
//
// A file may have [MaxSize] bytes, and brackets may be nested 100 deep. Reading takes
// time and memory in proportion to the file. No input makes this package panic.
package lockfile
