// Package install puts provider packages into plugin directories, safely beside
// other goroutines, other processes and the CLI.
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
// All that a configuration requires, chosen, installed and locked as "tofu init" does it,
// is the work of an [Installer]. The requirements are those of the required_providers
// blocks of all modules, which the caller reads:
//
//	installer := &install.Installer{Source: src, Dir: dir}
//	result, err := installer.Ensure(ctx, requirements, lock)
//	err = errors.Join(err, result.Lock.Save(lockfile.Name))
//
// [Dir.Lookup] finds what is there, [Dir.Place] links or copies a package from a cache
// that is shared, [Dir.All] lists and [Dir.Prune] removes.
//
// The layout is described at https://opentofu.org/docs/cli/config/config-file/, with the
// methods of installation.
//
// # What a directory proves
//
// A signature, and the hash of scheme zh in a lock file, are of the archive. What an
// archive was unpacked to has an h1, and only a lock file that has this h1 vouches for a
// directory. So with it, what is there is used without a single request; without it the
// archive is downloaded again and compared, unless Installer.TrustCache gives that up. A
// directory is hashed each time it is used: the CLI unpacks in place, and what a killed one
// leaves looks like a package.
//
// # Sharing
//
// Under its final name there is never a part of a package, nor one that was not verified:
// Install unpacks into a staging directory below ".tofureg", at the top of the directory, and
// moves a package into place as a whole, when it is on disk. What dead processes leave in
// staging directories is cleared by those who come later.
//
// For each package the file OS_ARCH.lock beside it is locked, as OpenTofu does from
// version 1.10 on, so that of all who want a package one downloads it and the others wait
// ([provider.EventWaiting]) and use it. As with OpenTofu the file, which is empty, stays for
// ever, even if there is no package: who waits for the lock has it open.
//
// Who waits with an h1 from a lock file compares with that. Without one, a directory does not
// tell which archive it is from. If another process of the same user has verified the package
// while the caller was waiting, what it found out about the archive is used; everybody else
// downloads, and so do all on Windows.
//
// The system gives up a lock when its holder dies. Where a file system has no locks, as
// some shared over a network, nothing can be installed; what is there can be looked up.
// Terraform and older versions of OpenTofu take no lock and may write to a package while
// it is installed here, or while it is used; Lookup then refuses it, and the next Install
// repairs it. Terraform and OpenTofu look at each name after they have listed a directory;
// in the rare case that one in a staging directory is gone by then, they stop and want to be run
// again.
//
// No file of a package is ever written to once it is in place, and a package with the
// right content is never replaced, so that programs can run from it. On Windows, where
// what runs cannot be moved, a package that must be replaced and is running is an error.
//
// A client that lists the whole directory, as the CLI does for a mirror and a cache, stops
// if a name disappears that it has just read. Installing makes that possible only for the
// instant in which a package leaves its staging directory; pruning takes away names that are
// in use, so it wants a quiet moment.
//
// Who can write to a directory can put anything into it, at any time after it was checked.
// A cache that is shared should be writable only for those who are trusted by all who use
// it, in particular where [Symlink] and [HardLink] lead to it.
//
// # Locking for other platforms
//
// A lock file does not say which platform a hash is for. So an [Installer] counts: with
// three platforms, that of the Installer included, the lock file should have an h1 for
// three archives of the selected version. If it has fewer, the hashes of all LockPlatforms
// are computed; if it has as many, none are. Therefore
//
//   - it is not noticed that one platform has taken the place of another in LockPlatforms.
//     To lock a provider anew, delete its entry from the lock file before Ensure.
//   - an archive with entries for directories has two h1 and counts twice, and two archives
//     with the same content count once. With Installer.Hashes set both are counted right,
//     once they have been computed. Archives that are the same byte for byte always count
//     once, so their platforms are looked at each time.
//
// # Archives
//
// An archive is unpacked into the staging directory while it arrives, and what was unpacked
// counts if it is, file by file, what the directory at the end of the archive describes;
// otherwise it is unpacked once more. Content is inflated once, and hashed as it is written.
//
// Archives that must not be unpacked are refused with checksum.ErrArchive, and nothing of them
// remains: names that leave the directory, absolute names, links, devices, duplicates, names
// that some file system takes for the same. Sizes and counts are bounded by
// [checksum.Limits], also before anything has been judged; memory does not grow with the size
// of a package. Files have mode 0755 or 0644, less the umask, and the provider's program
// can be run wherever its archive was made.
package install
