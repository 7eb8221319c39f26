package module

import "github.com/tofureg/tofureg/verify/checksum"

// MaxHops limits the locations that point to another.
const MaxHops = 10

// Options are the options of all downloads. The zero value accepts only archives over https.
type Options struct {
	// H1, if not zero, is the h1 that the package must have. [DownloadAll] uses [Request.H1]
	// instead.
	H1 checksum.Hash

	// Limits of the archive and its content. Zero fields are the defaults.
	Limits checksum.Limits

	// Git, if not nil, fetches from locations of KindGit. Otherwise Fetcher does.
	Git *Git

	// Fetcher fetches from other locations. If nil, the error is an [*UnsupportedError].
	Fetcher Fetcher

	// AllowLocal permits [DownloadLocation] to read local files, unless a server names them or
	// they contain the target. If false, the error is ErrLocal.
	AllowLocal bool

	// SkipLinks omits symbolic links, see [Report.Skipped]. If false, the error is ErrLink.
	SkipLinks bool

	// Replace permits replacing a directory or a symbolic link at the target; other files are
	// always refused. If false, the error is ErrOccupied.
	//
	// The verified new directory changes places with the old one, which is then removed with
	// all files. If the old directory already has the right content, it stays; with H1,
	// nothing is fetched. Content excludes modes, times and empty directories.
	//
	// Except on Linux and macOS, a killed process can leave no target. On Windows, Replace
	// fails while a program has a file in the directory open.
	Replace bool

	// Parallel limits the concurrent downloads of [DownloadAll]. If zero or less, it is 16.
	Parallel int

	// Progress, if not nil, is called for each step. Calls never overlap.
	Progress func(Event)
}
