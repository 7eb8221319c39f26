package module

import "github.com/tofureg/tofureg/verify/checksum"

// MaxHops is the maximum number of locations that point to another location before a
// package must come.
const MaxHops = 10

// Options are the options of [Download], [DownloadAll] and [DownloadLocation]. The zero
// value accepts only archives over https.
type Options struct {
	// H1 is the h1 hash that the package must have, for example from an earlier
	// [Report]. If zero, any package is accepted. [DownloadAll] ignores it and uses
	// [Request.H1].
	H1 checksum.Hash

	// Limits are the limits for the archive and for its content. Zero fields mean the
	// defaults, see [checksum.Limits]. The files that a Fetcher brings are counted
	// after it has returned.
	Limits checksum.Limits

	// Git permits the git program and says how to run it. If nil, locations of KindGit
	// are left to Fetcher.
	Git *Git

	// Fetcher fetches from all locations that are neither http archives, nor local, nor
	// git repositories with Git set. If nil, they are refused with an
	// [*UnsupportedError].
	Fetcher Fetcher

	// AllowLocal permits a location on this machine (a directory, an archive or a
	// repository at a file URL) as the argument of [DownloadLocation]. It is refused
	// as ErrLocal if AllowLocal is not set, and always if a registry, a page or a
	// header names it. A directory that contains the target is not copied.
	AllowLocal bool

	// SkipLinks leaves symbolic links out and lists them in [Report.Skipped]. If not
	// set, a package with a symbolic link is refused as ErrLink. Terraform keeps the
	// links of repositories, and unpacks the links of archives as files.
	SkipLinks bool

	// Replace permits a directory or a symbolic link at the target, which the package
	// replaces. If not set, it is refused as ErrOccupied. The file that a link points
	// to is not touched. Files, pipes and devices are refused in any case.
	//
	// The old directory stays until the new one is complete and verified. Then the two
	// change places, and the old one is removed with everything in it. If the directory
	// already has the right content, it is left alone, see [Report.Reused]. With H1 the
	// package is then not fetched; the registry is still asked for the location, because
	// the location names the directory of the module in the package. Modes, times and
	// empty directories do not count as content.
	//
	// On Linux and macOS a process that is killed leaves the old package or the new
	// one. On other systems, and on file systems that cannot exchange two names, it
	// leaves nothing if it is killed between two renames. On Windows, Replace fails if a
	// program has a file in the directory open.
	Replace bool

	// Parallel is the maximum number of packages that [DownloadAll] fetches at a time.
	// If it is zero or less, 16 is used.
	Parallel int

	// Progress, if not nil, is called for each step. Calls never overlap. The transfers
	// wait while it runs.
	Progress func(Event)
}
