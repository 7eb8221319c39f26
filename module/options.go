package module

import "github.com/tofureg/tofureg/verify/checksum"

// MaxHops is the maximum number of locations that point to another location.
const MaxHops = 10

// Options are the options of [Download], [DownloadAll] and [DownloadLocation]. The zero value
// accepts only archives over https.
type Options struct {
	// H1 is the h1 hash that the package must have, for example from an earlier [Report]. If
	// zero, any package is accepted. [DownloadAll] uses [Request.H1] instead.
	H1 checksum.Hash

	// Limits are the limits for the archive and its content. Zero fields are the defaults.
	// The files of a Fetcher are counted when it has returned.
	Limits checksum.Limits

	// Git, if not nil, fetches from locations of KindGit. If nil, Fetcher does.
	Git *Git

	// Fetcher fetches from locations that are not http archives, local files or, with Git,
	// git repositories. If nil, they are refused with an [*UnsupportedError].
	Fetcher Fetcher

	// AllowLocal permits [DownloadLocation] to read a directory, an archive or a repository
	// on this machine. Otherwise, and if a server names the location, it is refused with
	// ErrLocal. A directory that contains the target is not copied.
	AllowLocal bool

	// SkipLinks omits symbolic links and lists them in [Report.Skipped]. If false, a package
	// with a symbolic link is refused with ErrLink.
	SkipLinks bool

	// Replace permits a directory or a symbolic link at the target, and replaces it. If
	// false, it is refused with ErrOccupied. The file that a link points to is not touched.
	// Files, pipes and devices are always refused.
	//
	// The old directory stays until the new one is complete and verified. Then they change
	// places, and the old one is removed with all its files. If the directory already has the
	// right content, it is not changed, see [Report.Reused]; with H1, the package is then not
	// fetched. Modes, times and empty directories are not part of the content.
	//
	// If the process is killed, the target is the old or the new package on Linux and macOS.
	// On other systems, and on file systems that cannot exchange two names, the target may be
	// missing. On Windows, Replace fails while a program has a file in the directory open.
	Replace bool

	// Parallel is the maximum number of packages that [DownloadAll] fetches at the same time.
	// If zero or less, 16 is used.
	Parallel int

	// Progress, if not nil, is called for each step. Calls never overlap, and transfers wait
	// for them.
	Progress func(Event)
}
