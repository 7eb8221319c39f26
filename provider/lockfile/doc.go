// Package lockfile reads, merges and writes dependency lock files: .terraform.lock.hcl beside
// a configuration.
//
//	err := lockfile.Update(ctx, lockfile.Name, func(lock *lockfile.File) (*lockfile.File, error) {
//		result, err := install.Lock(ctx, source, lock, requirements, platforms, install.LockOptions{})
//		return result.Lock, err
//	})
//
// A lock file has an [Entry] for each provider: the selected version, its constraint, and
// hashes of the packages that may be installed. Functions
// [github.com/tofureg/tofureg/provider/install.Lock] and
// [github.com/tofureg/tofureg/provider/install.Installer.Ensure] decide which hashes are verified and
// may be recorded. Without them, see [File.Covers], [File.Accept] and [File.Merge].
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
