// Package lockfile reads, merges and writes dependency lock files, such as .terraform.lock.hcl beside configurations. It
// is meant for 1.0.
//
//	err := lockfile.Update(ctx, lockfile.Name, func(lock *lockfile.File) (*lockfile.File, error) {
//		result, err := (&install.Installer{Source: source, LockPlatforms: platforms}).Lock(ctx, requirements, lock)
//		return result.Lock, err
//	})
//
// A [lock file] has an [Entry] for each provider: the selected version, its constraint, and hashes of the packages that
// may be installed. [github.com/tofureg/tofureg/provider/install.Installer] decides which hashes may be recorded.
// Without it, see [File.Covers], [File.Accept] and [File.Merge].
//
// [Parse] and [Load] refuse unknown content and values that are not in canonical form, as the CLI does. The CLI also
// accepts an h1 or zh without a valid value, which fits no package, a hostname with a final dot, an argument in the line
// of a brace, and expressions: here values must be string literals, or a list of them. The [File] is written as the CLI
// writes it, byte for byte: comments other than the header are lost, and hashes are sorted.
//
// [ParseLenient] and [UpdateLenient] are for tools that edit files. They keep everything outside of modified entries.
//
// See https://opentofu.org/docs/language/files/dependency-lock/.
//
// [lock file]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#lock-file
package lockfile
