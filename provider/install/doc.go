// Package install installs provider packages into plugin directories. It is meant for 1.0.
//
// A [Dir] has the [layout] of .terraform/providers, TF_PLUGIN_CACHE_DIR and filesystem_mirror:
//
//	registry.opentofu.org/hashicorp/random/3.6.0/linux_amd64/terraform-provider-random_v3.6.0
//
// [Dir.Install] installs one package from a source, such as a [github.com/tofureg/tofureg/regclient.Client]:
//
//	dir := &install.Dir{Path: ".terraform/providers"}
//	done, err := dir.Install(ctx, src, pkg, install.Options{})
//	path, err := done.Executable()
//
// An [Installer] selects, installs and locks the providers that a configuration requires, as "tofu init" does:
//
//	installer := &install.Installer{Source: src, Dir: dir}
//	err := lockfile.Update(ctx, lockfile.Name, func(lock *lockfile.File) (*lockfile.File, error) {
//		result, err := installer.Ensure(ctx, requirements, lock)
//		return result.Lock, err
//	})
//
// [Installer.Lock] does what "tofu providers lock" does.
//
// # Trust
//
// Signatures and zh hashes cover archives; only h1 [hashes] cover unpacked directories.
//
// While no file seems to have changed, a [Dir] reuses an h1 for up to a week ([verify.Report.Believed]). This needs
// Linux and ext4, xfs or btrfs, and only this user and root may write to the package and the directories above it.
// Users of a shared cache must trust all users who can write to it.
//
// # Sharing
//
// Processes and the CLI can share a directory. Packages are unpacked below ".tofureg", verified and renamed. Windows
// cannot replace or remove a package whose program is running. Calls that may change a package lock the file
// OS_ARCH.lock beside it, as OpenTofu 1.10 and later do. Terraform takes no lock: do not install with both at a time.
//
// [layout]: https://opentofu.org/docs/cli/config/config-file/
// [hashes]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#hash
package install
