// Package install puts provider packages into plugin directories. It shares these
// directories safely with other goroutines, other processes and the CLI.
//
// A [Dir] has packages unpacked, as the CLI keeps them in .terraform/providers, in its
// plugin cache, and in a filesystem mirror:
//
//	registry.opentofu.org/hashicorp/random/3.6.0/linux_amd64/terraform-provider-random_v3.6.0
//
// One package, from a source to a program that can be run:
//
//	dir := &install.Dir{Path: ".terraform/providers"}
//	done, err := dir.Install(ctx, src, pkg, install.Options{})
//	path, err := done.Executable()
//
// An [Installer] does what "tofu init" does about providers: it chooses, installs and locks
// everything that a configuration requires. The caller reads the requirements from the
// required_providers blocks of all modules:
//
//	installer := &install.Installer{Source: src, Dir: dir}
//	result, err := installer.Ensure(ctx, requirements, lock)
//	err = errors.Join(err, result.Lock.Save(lockfile.Name))
//
// [Dir.Lookup] verifies a package that is installed, [Dir.Place] links or copies a package
// from a shared cache, [Dir.All] lists and [Dir.Prune] removes packages.
//
// https://opentofu.org/docs/cli/config/config-file/ describes the layout, with the
// methods of installation.
//
// # What a directory proves
//
// A signature is about an archive, and so is a hash of scheme zh in a lock file. Only an h1
// in a lock file is about an unpacked directory. If the lock file has this h1, the directory
// is used without a request. Otherwise the archive is downloaded and compared, unless
// Installer.TrustCache is set. A directory is hashed each time it is used: the CLI unpacks
// in place, and a CLI that was killed leaves something that looks like a package.
//
// # Sharing a directory
//
// A package appears under its name as a whole, verified and on disk. Install unpacks it into
// a staging directory below ".tofureg", at the top of the plugin directory, and renames it.
// Later calls clear the staging directories of processes that have died.
//
// Each call locks the file OS_ARCH.lock beside the package, as OpenTofu does from version
// 1.10 on. Of several calls for one package, one downloads it. The others wait
// ([provider.EventWaiting]) and then compare the directory with the h1 of their lock file.
// Without such an h1 they use what a process of the same user has found out about the archive
// while they waited, or else they download; on Windows they always download. The lock file
// is empty and stays for ever, as with OpenTofu.
//
// Without file locks, as in some network file systems, nothing can be installed, but packages
// can be looked up. Terraform and older versions of OpenTofu take no lock and may write to a
// package that is being installed or used. [Dir.Lookup] then refuses the package, and the
// next Install repairs it.
//
// A package in place is never written to, and a package with the right content is never
// replaced, so that programs can run from it. On Windows, replacing a package whose program
// is running is an error.
//
// A CLI that lists a plugin cache or mirror stops with an error if a name disappears that it
// has just read. An installation removes a name only in the instant of the rename. Prune
// removes names that may be in use, so call it when no CLI runs.
//
// A user who can write to a directory can change a package after it was verified. All users
// of a shared cache must trust the users who can write to it, in particular with [Symlink]
// and [HardLink].
//
// # Locking for other platforms
//
// A lock file does not say which platform a hash is for, so an [Installer] counts. With three
// platforms, its own included, the lock file should have an h1 for three archives of the
// selected version. If it has fewer, the packages of all LockPlatforms are hashed. Therefore:
//
//   - If one platform replaces another in LockPlatforms, nothing is hashed. To lock a
//     provider anew, delete its entry from the lock file before Ensure.
//   - An archive with entries for directories has two h1 and counts twice. Two archives with
//     the same content count once. With Installer.Hashes, both are counted right after their
//     hashes were computed once. Archives with the same bytes always count once, so their
//     platforms are looked at each time.
//
// A version that the lock file covers gains only hashes that were computed here; see
// [Installer].Policy.
//
// # Archives
//
// An archive is unpacked while it arrives, and its content is hashed as it is written. If
// the files differ from what the directory at the end of the archive describes, the archive
// is unpacked once more. Memory does not grow with the size of a package.
//
// An archive that must not be unpacked is refused with checksum.ErrArchive, and nothing of it
// remains: one with names that leave the directory, absolute names, links, devices,
// duplicates, or names that some file system takes for the same. [checksum.Limits] bound
// sizes and counts, also before the archive is judged. Files get the mode 0755 or 0644 less
// the umask; the program of the provider gets 0755.
package install
