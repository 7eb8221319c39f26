// Package lockfile reads, merges and writes dependency lock files: .terraform.lock.hcl beside
// a configuration.
//
//	lock, err := lockfile.Load(lockfile.Name)
//	locked := lock.Covers(p, version)
//	if locked {
//		policy.Accept = lock.Accept(p, version)
//	}
//	// … a verified download …
//	hashes := report.Local
//	if !locked {
//		hashes = report.Recordable()
//	}
//	err = lock.Merge(p, version, constraint, hashes)
//	err = lock.Save(lockfile.Name)
//
// A lock file has an [Entry] for each provider: the selected version, its constraint, and
// hashes of the packages that may be installed. Function
// [github.com/tofureg/tofureg/provider.Hashes] makes the reports for several platforms.
//
// [Parse] and [Load] are as strict as the CLI: values must be in canonical form, and unknown
// content is an error. The [File] is written as the CLI writes it, byte for byte. Comments
// other than the header are lost.
//
// [ParseLenient] and [LoadLenient] are for tools that edit files. They keep everything outside of
// modified entries.
//
// Unlike the CLI, this package does not evaluate expressions. Values must be string literals,
// or a list of them.
//
// Programs that install by a lock file also use [File.Clone] and [File.Keep], and return
// [ErrNotLockable] and [NotLockedError].
//
// See https://opentofu.org/docs/language/files/dependency-lock/.
package lockfile
