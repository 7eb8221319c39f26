package module

import "github.com/tofureg/tofureg/verify/checksum"

// MaxHops is the maximum number of locations that point to another location.
const MaxHops = 10

// Options are the options of [Download], [DownloadAll] and [DownloadLocation]. The zero value
// accepts only archives over https.
type Options struct {
	// H1, if not zero, is the h1 hash that the package must have, for example from an earlier
	// [Report]. [DownloadAll] uses [Request.H1] instead.
	H1 checksum.Hash

	// Limits are the limits for the archive and its content. Zero fields are the defaults.
	Limits checksum.Limits

	// Git, if not nil, fetches from locations of KindGit. If nil, Fetcher does.
	Git *Git

	// Fetcher fetches from all other locations. If nil, they are refused with an
	// [*UnsupportedError].
	Fetcher Fetcher

	// AllowLocal permits [DownloadLocation] to read local files. Otherwise, and if a server
	// names the location, it returns ErrLocal. A directory that contains the target is
	// refused.
	AllowLocal bool

	// SkipLinks omits symbolic links and lists them in [Report.Skipped]. If false, they are
	// refused with ErrLink.
	SkipLinks bool

	// Replace permits replacing a directory or a symbolic link at the target. If false, it is
	// refused with ErrOccupied. Other files are always refused.
	//
	// When the new directory is verified, it changes places with the old one, which is then
	// removed with all its files. If the old directory already has the right content, it
	// stays, see [Report.Reused]; with H1, the package is then not fetched. Modes, times and
	// empty directories are not part of the content.
	//
	// On systems other than Linux and macOS, a killed process can leave no target at all. On
	// Windows, Replace fails while a program has a file in the directory open.
	Replace bool

	// Parallel is the maximum number of concurrent downloads of [DownloadAll]. If zero or
	// less, it is 16.
	Parallel int

	// Progress, if not nil, is called for each step. Calls never overlap.
	Progress func(Event)
}
