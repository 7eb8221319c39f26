// Package lockfile reads, merges and writes dependency lock files, such as .terraform.lock.hcl beside configurations. It
// is meant for 1.0.
//
//	err := lockfile.Update(ctx, lockfile.Name, func(lock *lockfile.File) (*lockfile.File, error) {
//		result, err := (&install.Installer{Source: source, LockPlatforms: platforms}).Lock(ctx, requirements, lock)
//		return result.Lock, err
//	})
//
// [github.com/tofureg/tofureg/provider/install.Installer] decides which hashes a [lock file] may have. Without it, see
// [File.Covers], [File.Accept] and [File.Merge].
//
// [Parse] and [Load] refuse unknown content and values that are not in canonical form, as the CLI does. Unlike the CLI,
// they also refuse an invalid h1 or zh, a hostname with a final dot, an argument in the line of a brace, and
// expressions except string literals and lists of them. The [File] is written as by the CLI, byte for byte: comments
// other than the header are lost. To edit files, use [ParseLenient] or [UpdateLenient].
//
// See https://opentofu.org/docs/language/files/dependency-lock/.
//
// [lock file]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#lock-file
package lockfile
