package module

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Download asks src for the location of version v, and fetches the whole package into dir as
// [DownloadLocation] does. If v is zero, it is the newest release. The error is an [*Error],
// such as ErrNotFound, ErrNoVersion or ErrNoSubdir.
func Download(ctx context.Context, src Source, source addrs.ModuleSource, v addrs.Version, dir string, o Options) (*Report, error) {
	return download(ctx, src, Request{Source: source, Version: v, Dir: dir, H1: o.H1}, o, semaphore.NewWeighted(maxXZ))
}

func download(ctx context.Context, src Source, r Request, o Options, xz *semaphore.Weighted) (*Report, error) {
	if ctx.Err() != nil {
		return nil, failed("fetch", r.Source.String(), ctx.Err())
	}
	o.H1 = r.H1
	j, err := newJob(ctx, src, r.Dir, o, xz)
	if err != nil {
		return nil, failed("store", r.Source.String(), err)
	}
	defer j.discard(ctx)
	v, err := r.chooseVersion(ctx, src)
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

// DownloadLocation fetches the package at loc into the directory dir. It unpacks the files
// into a staging directory .tofureg-* beside dir, verifies o.H1, syncs the files and moves
// them to dir. A failed download removes the staging directory. After a killed process, and
// after a context that ended while there were more than 100 files, the next download beside dir does.
//
// Missing directories above dir are created. If dir is not an empty directory, the error is
// ErrOccupied before any request, unless o.Replace is set. After concurrent calls with the
// same dir, one of the packages is there. Memory use is a few megabytes, and up to 64 more for
// a tar.xz.
//
// Names that differ in case only are accepted if the file system keeps them apart. If not, the
// error is ErrArchive.
//
// The error is an [*Error]. It wraps a [*checksum.MismatchError] for a wrong h1, a
// [*ChecksumError] for a wrong checksum, and an [*UnsupportedError] or ErrLocal if the options
// do not permit the location.
func DownloadLocation(ctx context.Context, src Opener, loc *Location, dir string, o Options) (*Report, error) {
	j, err := newJob(ctx, src, dir, o, semaphore.NewWeighted(maxXZ))
	if err != nil {
		return nil, failed("store", subject(loc), err)
	}
	defer j.discard(ctx)
	return j.run(ctx, loc)
}

// subject names the package at loc for people.
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

// Request is a module that [DownloadAll] fetches.
type Request struct {
	Source addrs.ModuleSource // the module

	// Version is the wanted version. If zero, it is the newest that Constraint allows.
	Version    addrs.Version
	Constraint addrs.ModuleConstraint

	// Dir is the target. If it equals, contains or is in the Dir of an earlier request,
	// ignoring case, the error is ErrOccupied.
	Dir string

	H1 checksum.Hash // see [Options.H1]
}

// Result is the result of a [Request]. One field is not nil.
type Result struct {
	Report *Report // of [Download]
	Err    error   // an [*Error]
}

// maxXZ bounds the tar.xz that DownloadAll unpacks concurrently: each may need a dictionary of 64 MiB.
const maxXZ = 2

// defaultParallel is the value of Options.Parallel if it is not set.
const defaultParallel = 16

// DownloadAll fetches many modules at the same time, as [Download] does, and returns the
// results in the order of requests. A failed request does not stop the others. The error joins
// all errors. At most two tar.xz are unpacked at the same time, because of their memory.
func DownloadAll(ctx context.Context, src Source, requests []Request, o Options) ([]Result, error) {
	parallel := o.Parallel
	if parallel <= 0 {
		parallel = defaultParallel
	}
	o.Progress = flight.InTurn(o.Progress)
	xz := semaphore.NewWeighted(maxXZ)
	results := make([]Result, len(requests))
	conflicting := conflicts(requests)
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, r := range requests {
		if err := conflicting[i]; err != nil {
			results[i] = Result{Err: failed("store", r.Source.String(), err)}
			continue
		}
		group.Go(func() error {
			results[i].Report, results[i].Err = download(ctx, src, r, o, xz)
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

// conflicts returns the errors of the requests whose directory equals, contains or is in the
// directory of an earlier request.
func conflicts(requests []Request) map[int]error {
	errs := map[int]error{}
	dirs := make([]string, len(requests)) // with a separator at the end; empty if invalid
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
			errs[i] = fmt.Errorf("%s: %w: it overlaps the directory of %s, %s", r.Dir, ErrOccupied, requests[other].Source, requests[other].Dir)
			continue
		}
		dirs[i] = dir
	}
	return errs
}

// chooseVersion returns the version to fetch.
func (r Request) chooseVersion(ctx context.Context, src Lister) (addrs.Version, error) {
	if !r.Version.IsZero() {
		return r.Version, nil
	}
	versions, err := src.ModuleVersions(ctx, r.Source.Module)
	if err != nil {
		return addrs.Version{}, err
	}
	if versions == nil {
		return addrs.Version{}, errors.New("the source returned no versions")
	}
	return versions.Newest(r.Constraint)
}
