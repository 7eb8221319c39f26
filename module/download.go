package module

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// MaxHops is how many times locations may point on to others before a package comes.
const MaxHops = 10

// Options for [Download], [DownloadAll] and [DownloadLocation]. The zero value
// accepts archives over http(s) from the source, and nothing else.
type Options struct {
	// H1 is the hash of scheme h1 that the package must have, as a [Report] of
	// earlier has it; zero: any will do. [DownloadAll] takes it from the requests
	// instead.
	H1 checksum.Hash

	// Limits hold for the archive and for what it holds; zero fields mean the
	// defaults, see [checksum.Limits]. What a Fetcher brings is counted when it is
	// there.
	Limits checksum.Limits

	// Git allows the git program, and tells how to run it; nil: locations of
	// KindGit are left to the Fetcher.
	Git *Git

	// Fetcher fetches from all other locations; nil: they are refused with an
	// [*UnsupportedError].
	Fetcher Fetcher

	// AllowLocal permits a location on this machine (a directory, an archive or a
	// repository at a file URL) as the argument of [DownloadLocation]. It is refused
	// as ErrLocal if AllowLocal is not set, and always if a registry, a page or a
	// header names it. A directory is not copied to itself, nor to a place in it.
	AllowLocal bool

	// SkipLinks leaves symbolic links out, which are a reason to refuse a
	// package otherwise; [Report.Skipped] names them. A module that is itself made
	// of links does not work without them. Terraform keeps those of repositories,
	// and makes files of those in archives: empty ones, or with the target as text.
	SkipLinks bool

	// Replace puts the package in the place of the directory, or the symbolic link,
	// that is there, if any; false: that is refused as ErrOccupied. A link is
	// replaced itself, what it points to is not touched. Files, pipes and devices
	// are refused in any case.
	//
	// With it a download can be repeated. The old directory stays as it is until the
	// new one is complete and verified, and if anything fails; then the two change
	// places, and the old one is removed with all that is in it, also what somebody
	// has changed or added. If the content is right already, the directory is left
	// alone, see [Report.Reused]: with H1, the package is then not even fetched. The
	// registry is still asked where it is, since that tells the directory of the
	// module in it. What counts is the h1 of what is in the directory now; modes,
	// times and empty directories are no part of it.
	//
	// On Linux and macOS a process that is killed leaves the old package or the new
	// one. On other systems, and on the few file systems that cannot exchange two
	// names, there is a moment between two renames in which it leaves nothing.
	// Windows replaces no directory in which a program has a file open: that is an
	// error, and the old one stays.
	Replace bool

	// Parallel is the maximum number of packages that [DownloadAll] fetches at a time.
	// If it is zero or less, 16 is used.
	Parallel int

	// Progress is told each step of a job; nil: nobody is. It is called by one
	// goroutine at a time and holds up the transfers while it runs.
	Progress func(Event)
}

// Report tells what came of a download. It is plain data; its JSON form can be
// stored.
type Report struct {
	// Module and Version that were asked for; zero for a location from elsewhere.
	Module  addrs.Module  `json:"module,omitzero"`
	Version addrs.Version `json:"version,omitzero"`

	// Location is where the package came from in the end, and Via are the
	// locations that led there, the first one first. Both are safe to print, and
	// no secrets are in them.
	Location string   `json:"location"`
	Via      []string `json:"via,omitempty"`

	// Dir is the directory with the whole package, as the caller named it.
	Dir string `json:"dir"`

	// Subdir is the directory of the module in it, with slashes; empty: the
	// package itself. It exists; where the location had a "*", it has a name.
	Subdir string `json:"subdir,omitempty"`

	// H1 is the hash of the names and contents of all files in Dir. It depends
	// neither on how the package was packed nor on the system it is unpacked on.
	// The form is that of the hashes in lock files, see [checksum.H1Dir].
	H1 checksum.Hash `json:"h1"`

	// Commit is the commit that was fetched from a git repository by the git
	// program; empty otherwise.
	Commit string `json:"commit,omitempty"`

	// Size is the size of the archive in bytes; 0: there was none.
	Size int64 `json:"size,omitempty"`

	// Reused tells that Dir had this content already, see [Options.Replace], and
	// was left as it is. If the package was not fetched, Size and Commit are zero
	// and Skipped is nil.
	Reused bool `json:"reused,omitempty"`

	// Skipped names what was left out of the package: symbolic links, if
	// Options.SkipLinks is set, and submodules of a git repository. At most 1,000
	// are named.
	Skipped []string `json:"skipped,omitempty"`
}

// String returns what is where, and its hash, for people.
func (r *Report) String() string {
	what := r.Location
	if !r.Module.IsZero() {
		what = r.Module.String() + " " + r.Version.String()
	}
	return what + " in " + r.ModuleDir() + ", " + r.H1.String()
}

// ModuleDir returns the path of the module: Dir and in it Subdir.
func (r *Report) ModuleDir() string { return filepath.Join(r.Dir, filepath.FromSlash(r.Subdir)) }

// Download asks src where the package of the module in version v is, and puts its
// files into directory dir; see [DownloadLocation] for how. The zero version means
// the newest release, which costs one more request. The subdirectory of source is
// looked up in the package, within the one that the registry may name; all of the
// package is there in any case, since modules in it may refer to each other.
//
// The error is an [*Error]. It wraps ErrNotFound for an unknown module, ErrNoVersion
// for an unknown version and ErrNoSubdir for an unknown subdirectory.
func Download(ctx context.Context, src Source, source addrs.ModuleSource, v addrs.Version, dir string, o Options) (*Report, error) {
	return download(ctx, src, Request{Source: source, Version: v, Dir: dir, H1: o.H1}, o)
}

func download(ctx context.Context, src Source, r Request, o Options) (*Report, error) {
	o.H1 = r.H1
	j, err := newJob(ctx, src, r.Dir, o)
	if err != nil {
		return nil, failure("store", r.Source.String(), err)
	}
	defer j.discard()
	v, err := r.choose(ctx, src)
	if err != nil {
		return nil, failure("list versions of", r.Source.Module.String(), ended(ctx, err))
	}
	subject := r.Source.Module.String() + " " + v.String()
	loc, err := src.ModuleLocation(ctx, r.Source.Module, v)
	if err != nil {
		return nil, failure("find", subject, ended(ctx, err))
	}
	if loc == nil {
		return nil, failure("find", subject, errors.New("the source returned no location"))
	}
	if err := loc.checkRemote(); err != nil {
		return nil, failure("find", subject, err)
	}
	loc, err = loc.WithSubdir(r.Source.Subdir)
	if err != nil {
		return nil, failure("find", subject, err)
	}
	loc.Module, loc.Version = r.Source.Module, v
	return j.run(ctx, loc)
}

// DownloadLocation puts the package at loc into directory dir. The files appear there
// whole or not at all: they are unpacked in a private directory beside it, hashed,
// compared with o.H1, synced, and only then renamed. That directory is removed after
// any failure; only a process that is killed leaves it behind, under a name that
// starts with ".tofureg-", until the next download into the same parent removes it.
//
// Directories above dir that are missing are made, and stay in any case. At dir there
// must be nothing, or an empty directory, which is replaced; anything else is refused at
// once as ErrOccupied, unless o.Replace is set.
//
// Callers may use the same dir at the same time: each package is there as a whole, and
// with o.Replace the last one stays.
//
// Git repositories are fetched without history and submodules, and the result has no
// .git directory. A location that points to another one is followed, at most
// [MaxHops] times; a relative one counts from the URL that named it, and the
// directories that both name are joined. Memory use does not depend on the size of
// the package; it is a few megabytes, and up to 64 more for a tar.xz.
//
// The error is an [*Error]. A hash that is not o.H1 is a [*checksum.MismatchError], a
// wrong checksum a [*ChecksumError], what the options do not allow an
// [*UnsupportedError] or ErrLocal.
func DownloadLocation(ctx context.Context, src Opener, loc *Location, dir string, o Options) (*Report, error) {
	j, err := newJob(ctx, src, dir, o)
	if err != nil {
		return nil, failure("store", subject(loc), err)
	}
	defer j.discard()
	return j.run(ctx, loc)
}

// subject names what is at loc for people.
func subject(loc *Location) string {
	switch {
	case loc == nil:
		return "no location"
	case loc.Module.IsZero():
		return loc.String()
	case loc.Version.IsZero():
		return loc.Module.String()
	}
	return loc.Module.String() + " " + loc.Version.String()
}
