package module

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/verify/checksum"
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

// Request is a module for [DownloadAll] to fetch.
type Request struct {
	// Source is the module, with or without a directory in its package.
	Source addrs.ModuleSource

	// Version is the version to fetch. If zero, the newest version that Constraint
	// allows is fetched. The zero Constraint allows every release.
	Version    addrs.Version
	Constraint addrs.ModuleConstraint

	// Dir is the directory for the package alone. The request fails as ErrOccupied if
	// Dir equals the Dir of an earlier request, contains it, or is in it. Names that
	// differ only in case are equal.
	Dir string

	// H1 is the h1 hash that the package must have. If zero, any package is accepted.
	H1 checksum.Hash
}

// Result is the result of a [Request]. One of the fields is nil.
type Result struct {
	Report *Report // as [Download] returns it
	Err    error   // an [*Error], as [Download] returns it
}

// defaultParallel is used if Options.Parallel is not set.
const defaultParallel = 16

// DownloadAll fetches many modules at the same time, each as [Download] does, and returns
// the results in the order of the requests. A request that fails does not stop the others.
// The error joins the errors of all results. If ctx ends, unfinished requests fail.
//
// Each module takes three steps: versions, location, archive. If several requests need the
// same answer of the registry at the same time, the client of package
// [github.com/tofureg/tofureg/regclient] asks once.
func DownloadAll(ctx context.Context, src Source, requests []Request, o Options) ([]Result, error) {
	parallel := o.Parallel
	if parallel <= 0 {
		parallel = defaultParallel
	}
	o.Progress = flight.InTurn(o.Progress)
	results := make([]Result, len(requests))
	clashes := clashing(requests)
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, r := range requests {
		if err := clashes[i]; err != nil {
			results[i] = Result{Err: failed("store", r.Source.String(), err)}
			continue
		}
		group.Go(func() error {
			results[i].Report, results[i].Err = download(ctx, src, r, o)
			return nil
		})
	}
	group.Wait()
	var errs []error
	for _, r := range results {
		errs = append(errs, r.Err)
	}
	return results, errors.Join(errs...)
}

// clashing finds the requests whose directory equals, contains or is in the directory of an
// earlier one: which package is there in the end would depend on timing.
func clashing(requests []Request) map[int]error {
	clashes := map[int]error{}
	dirs := make([]string, len(requests)) // with a separator at the end; empty: not usable
	for i, r := range requests {
		dir, err := cleanTarget(r.Dir)
		if err != nil {
			continue // the request fails by itself
		}
		dir = archive.Fold(dir) + string(filepath.Separator)
		other := slices.IndexFunc(dirs[:i], func(d string) bool {
			return d != "" && (strings.HasPrefix(d, dir) || strings.HasPrefix(dir, d))
		})
		if other >= 0 {
			clashes[i] = fmt.Errorf("%s: %w, as %s goes to %s", r.Dir, ErrOccupied, requests[other].Source, requests[other].Dir)
			continue
		}
		dirs[i] = dir
	}
	return clashes
}

// choose returns the version to fetch.
func (r Request) choose(ctx context.Context, src Lister) (addrs.Version, error) {
	if !r.Version.IsZero() {
		return r.Version, nil
	}
	versions, err := src.ModuleVersions(ctx, r.Source.Module)
	if err != nil {
		return addrs.Version{}, err
	}
	if versions == nil {
		return addrs.Version{}, errors.New("the source returned no list")
	}
	return versions.Newest(r.Constraint)
}
