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
// Function Hashes of package [github.com/tofureg/tofureg/provider] makes the reports for
// several platforms.
//
// The format is described at
// https://opentofu.org/docs/language/files/dependency-lock/.
//
// # Two ways to read
//
// [Parse] and [Load] are as strict as the CLI: addresses, versions and constraints must be in
// canonical form, hashes must be well-formed, and unknown content is an error. A [File] from
// them is written as the CLI writes it, byte for byte, under the header comment that the file
// had. Other comments are lost, as with the CLI.
//
// [ParseLenient] and [LoadLenient] are for tools that edit files which people have edited.
// They read what they understand and keep the rest of the file, with its comments, order and
// unknown content. [File.Warnings] lists what they did not understand.
//
// # Differences from the CLI
//
// The CLI evaluates expressions. This package accepts only literals: a text in double quotes,
// or a list of them. A hash of scheme zh or h1 must be well-formed; hashes of other schemes
// are kept as they are. Blocks for modules, which the CLI ignores, are not checked.
//
// # Limits
//
// A file may have [MaxSize] bytes, and brackets may be nested 100 deep. Reading takes time and
// memory in proportion to the file. No input makes this package panic.
package lockfile
