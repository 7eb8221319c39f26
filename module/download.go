package module

import (
	"context"
	"errors"

	"github.com/tofureg/tofureg/addrs"
)

// Download asks src for the location of the module in version v, and puts the package
// into the directory dir as [DownloadLocation] does. The zero version means the newest
// release, which takes one more request. The directory of source is looked up in the
// package, within the directory that the registry may name. The whole package is unpacked
// in any case, since its modules may refer to each other.
//
// The error is an [*Error]. It wraps ErrNotFound for an unknown module, ErrNoVersion
// for an unknown version and ErrNoSubdir for an unknown directory.
func Download(ctx context.Context, src Source, source addrs.ModuleSource, v addrs.Version, dir string, o Options) (*Report, error) {
	return download(ctx, src, Request{Source: source, Version: v, Dir: dir, H1: o.H1}, o)
}

func download(ctx context.Context, src Source, r Request, o Options) (*Report, error) {
	if ctx.Err() != nil {
		return nil, failed("fetch", r.Source.String(), ctx.Err())
	}
	o.H1 = r.H1
	j, err := newJob(ctx, src, r.Dir, o)
	if err != nil {
		return nil, failed("store", r.Source.String(), err)
	}
	defer j.discard()
	v, err := r.choose(ctx, src)
	if err != nil {
		return nil, failed("list versions of", r.Source.Module.String(), ended(ctx, err))
	}
	subject := r.Source.Module.String() + " " + v.String()
	loc, err := src.ModuleLocation(ctx, r.Source.Module, v)
	if err != nil {
		return nil, failed("find", subject, ended(ctx, err))
	}
	if loc == nil {
		return nil, failed("find", subject, errors.New("the source returned no location"))
	}
	if err := loc.checkRemote(); err != nil {
		return nil, failed("find", subject, err)
	}
	loc, err = loc.WithSubdir(r.Source.Subdir)
	if err != nil {
		return nil, failed("find", subject, err)
	}
	loc.Module, loc.Version = r.Source.Module, v
	return j.run(ctx, loc)
}

// DownloadLocation puts the package at loc into the directory dir. The files are unpacked
// into a private directory beside dir, hashed, compared with o.H1 and synced, and then the
// private directory is renamed. After a failure it is removed. A process that is killed
// leaves it behind under a name that starts with ".tofureg-", and the next download beside it
// removes it.
//
// Missing directories above dir are created, and stay after a failure. At dir there must be
// nothing, or an empty directory, which is replaced; anything else is refused at once as
// ErrOccupied, unless o.Replace is set. Callers may use the same dir at the same time: each
// package appears as a whole, and with o.Replace the last one stays.
//
// A location that points to another one is followed at most [MaxHops] times. A relative
// location counts from the URL that named it, and the directories of both locations are
// joined. Memory use does not depend on the size of the package: it is a few megabytes, and
// up to 64 more for a tar.xz.
//
// The error is an [*Error]. It wraps a [*checksum.MismatchError] if the hash is not o.H1, a
// [*ChecksumError] if the checksum of the location does not match, and an
// [*UnsupportedError] or ErrLocal if the options do not permit the location.
func DownloadLocation(ctx context.Context, src Opener, loc *Location, dir string, o Options) (*Report, error) {
	j, err := newJob(ctx, src, dir, o)
	if err != nil {
		return nil, failed("store", subject(loc), err)
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
