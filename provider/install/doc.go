// Package install puts provider packages into plugin directories. Processes and the CLI can share a
// directory.
//
// A [Dir] has the [layout] of .terraform/providers, TF_PLUGIN_CACHE_DIR and filesystem_mirror:
//
//	registry.opentofu.org/hashicorp/random/3.6.0/linux_amd64/terraform-provider-random_v3.6.0
//
// [Dir.Install] installs one package from a source:
//
//	dir := &install.Dir{Path: ".terraform/providers"}
//	done, err := dir.Install(ctx, src, pkg, install.Options{})
//	path, err := done.Executable()
//
// An [Installer] selects, installs and locks the providers that a configuration requires, as "tofu
// init" does. The caller reads the requirements from the required_providers blocks of all modules:
//
//	installer := &install.Installer{Source: src, Dir: dir}
//	result, err := installer.Ensure(ctx, requirements, lock)
//	err = errors.Join(err, result.Lock.Save(lockfile.Name))
//
// # Trust
//
// Signatures and zh hashes cover archives; only h1 hashes cover unpacked directories. If the lock file has the h1 of an installed package, the package is used
// without a request. Otherwise the archive is downloaded and verified.
//
// A package is hashed when it is used. A [Dir] hashes it once while no file changes, as far as the file
// system tells, and [verify.Report.Believed] says when: on Linux, on ext4, xfs and btrfs, if only this
// user and root can write to the package and the directories above it. With [Dir.Stamps] and
// [verify.Policy.AllowStamps] this holds for later processes of the user, until the next boot and for a
// week. The first run after an installation hashes, and [Dir.Lookup] always does.
//
// All users of a shared cache must trust the users who can write to it: these can change a package
// after its verification.
//
// # Sharing a directory
//
// A package is unpacked in a staging directory below ".tofureg", verified and renamed. It is not
// synced to the disk unless [Options].Sync is set: after a power failure the h1 tells whether it is
// damaged. A package with the right content is never replaced. On Windows, replacing a package whose
// program is running fails.
//
// Each call locks the file OS_ARCH.lock beside the package, as OpenTofu 1.10 and later versions do.
// Terraform takes no lock. If it damages a package, [Dir.Lookup] refuses it and the next
// [Dir.Install] replaces it.
//
// [layout]: https://opentofu.org/docs/cli/config/config-file/
package install
