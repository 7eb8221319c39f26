package module

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Options configure downloads. The zero value accepts only [KindHTTP].
type Options struct {
	Limits  checksum.Limits // of the archive and its content
	Git     *Git            // for KindGit; if nil, Fetcher
	Fetcher Fetcher         // may be nil; see [Fetchers]

	// AllowLocal permits a [Request.Location] on this machine. If false, or if a server names it, the error is ErrLocal.
	AllowLocal bool

	// KeepLinks keeps symbolic links with a relative target in the package, even a missing one, except those of zip
	// archives.
	KeepLinks bool

	SkipLinks bool // omits symbolic links that are not kept; if false, the error is ErrLink

	// Replace permits replacing a non-empty directory or a symbolic link at the target. Otherwise, and for other files
	// always, the error is ErrOccupied, before any request. The old directory is removed with all files, after the new
	// one is verified. If it has the same content, apart from modes, times and empty directories, it stays. With
	// Request.H1, no package is fetched then. Except on Linux and macOS, a killed process can leave no target. On
	// Windows, no program may have a file in the directory open.
	Replace bool

	// Stamps, if not empty, is a directory as in [github.com/tofureg/tofureg/provider/install.Dir]. With Replace and
	// Request.H1, an old directory without symbolic links is not read if no file has changed since it was hashed.
	Stamps string

	// Approve, if not nil, is called, perhaps concurrently, with each location before a package is fetched or reused:
	// that of the request or registry, with module and version, and those to which it points. Its error makes the
	// download fail with a [failure.RefusedError].
	Approve func(ctx context.Context, loc Location) error

	Cache *Cache // may be nil

	Parallel int // maximum of concurrent downloads of [DownloadAll]; if 0 or less, 16

	// Progress, if not nil, is called for each step. Calls of one [Download] or [DownloadAll] never overlap.
	Progress func(progress.Event)
}

// Download fetches a package: it asks src for a version and the location, unpacks the files into a staging directory
// .tofureg-* beside r.Dir, verifies r.H1, and moves them to r.Dir. When Download returns, nothing runs. The next
// Download to r.Dir removes the rest of up to eight calls that were killed or ended by ctx.
//
// R.Dir must not be "." or "..". Missing directories above it are created. Of concurrent calls with the same Dir and
// without o.Replace, one succeeds. Src may be nil if no location is of KindHTTP and r.Location is set.
//
// The error wraps an error of this package, [checksum.ErrMismatch] for a wrong h1 or checksum, or [failure.ErrTooLarge]
// beyond o.Limits.
func Download(ctx context.Context, src Source, r Request, o Options) (*Report, error) {
	return download(ctx, src, r, o, semaphore.NewWeighted(maxXZ))
}

func download(ctx context.Context, src Source, r Request, o Options, xz *semaphore.Weighted) (*Report, error) {
	about := r.subject()
	if ctx.Err() != nil {
		return nil, failure.Wrap("fetch", about, ctx.Err())
	}
	s, err := newStaging(ctx, r.Dir, r.H1, o, xz)
	if err != nil {
		return nil, failure.Wrap("store", about, err)
	}
	defer s.discard(ctx)
	loc := r.Location
	switch named := !r.Source.Module.IsZero(); {
	case named == (loc != nil):
		return nil, failure.Wrap("fetch", about, errors.New("a request needs either a Source or a Location"))
	case named:
		if loc, err = locate(ctx, src, r, o.Progress); err != nil {
			return nil, err
		}
	}
	return follow(ctx, src, loc, s)
}

// locate asks src for the location of a module. The function report may be nil.
func locate(ctx context.Context, src Source, r Request, report func(progress.Event)) (*Location, error) {
	m, v := r.Source.Module, r.Version
	if v.IsZero() {
		versions, err := src.ModuleVersions(ctx, m)
		switch {
		case err == nil && versions == nil:
			err = errors.New("the source returned no versions")
		case err == nil:
			if versions.Module.IsZero() { // which the error names
				versions = versions.Clone()
				versions.Module = m
			}
			v, err = versions.Newest(r.Constraint)
		}
		if err != nil {
			return nil, failure.Wrap("list versions of", m.String(), ended(ctx, err))
		}
		if held := versions.HeldFor(r.Constraint, v); len(held) > 0 && report != nil {
			e := progress.Event{Kind: progress.HeldBack, Module: m, Version: v, Dir: r.Dir}
			for _, h := range held {
				e.Held = append(e.Held, progress.Held{Version: h.Release.Version, Until: h.Until})
			}
			report(e)
		}
	}
	loc, err := src.ModuleLocation(ctx, m, v)
	switch {
	case err != nil:
		err = ended(ctx, err)
	case loc == nil:
		err = errors.New("the source returned no location")
	default:
		loc, err = loc.named(m, v, r.Source.Subdir)
	}
	return loc, failure.Wrap("find", m.String()+" "+v.String(), err)
}

// Request is a package for [Download].
type Request struct {
	Source     addrs.ModuleSource     // zero with Location
	Version    addrs.Version          // if zero, the newest that Constraint allows
	Constraint addrs.ModuleConstraint // ignored if Version is set

	Location *Location // instead of Source

	// Dir is the target. If it overlaps the Dir of an earlier request of [DownloadAll], ignoring case, the error is
	// ErrOccupied.
	Dir string

	H1 checksum.Hash // if not zero, what [Report.H1] must be; an l1 needs Options.KeepLinks
}

// subject names the package for people.
func (r Request) subject() string {
	if r.Source.Module.IsZero() {
		return subject(r.Location)
	}
	return r.Source.String()
}

// Result is the result of a [Request]. One field is not nil.
type Result struct {
	Report *Report // of [Download]
	Err    error   // an [*failure.Error]
}

// maxXZ bounds the tar.xz that DownloadAll unpacks concurrently: each may need a dictionary of 64 MiB.
const maxXZ = 2

// DownloadAll calls [Download] concurrently and returns the results in the order of requests. The error joins theirs.
func DownloadAll(ctx context.Context, src Source, requests []Request, o Options) ([]Result, error) {
	o.Progress = flight.InTurn(o.Progress)
	xz := semaphore.NewWeighted(maxXZ)
	results := make([]Result, len(requests))
	dirs := make([]string, len(requests)) // with a separator at the end; empty if invalid
	var group errgroup.Group
	group.SetLimit(cmp.Or(max(o.Parallel, 0), 16))
	for i, r := range requests {
		if dir, err := cleanTarget(r.Dir); err == nil { // otherwise the request fails by itself
			dir = archive.Fold(dir) + string(filepath.Separator)
			other := slices.IndexFunc(dirs[:i], func(d string) bool {
				return d != "" && (strings.HasPrefix(d, dir) || strings.HasPrefix(dir, d))
			})
			if other >= 0 {
				err := fmt.Errorf("%s: %w: it overlaps the directory of %s, %s", r.Dir, ErrOccupied, requests[other].subject(), requests[other].Dir)
				results[i].Err = failure.Wrap("store", r.subject(), err)
				continue
			}
			dirs[i] = dir
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
	return results, fault.Join(errs...)
}

// maxHops limits the locations that point to another.
const maxHops = 10

// follow downloads the package at start, or at the location to which start points.
func follow(ctx context.Context, src Opener, start *Location, s *staging) (*Report, error) {
	about := subject(start)
	loc, err := start.checked()
	if err != nil {
		return nil, failure.Wrap("fetch", about, err)
	}
	report := &Report{Module: loc.Module, Version: loc.Version, Dir: s.dir}
	meter := &progress.Meter{Event: progress.Event{Module: loc.Module, Version: loc.Version, Dir: s.dir}, Report: s.o.Progress}
	var got *unpacked
	for got == nil {
		report.Location = loc.String()
		meter.Location, meter.Bytes, meter.Total = report.Location, 0, 0
		meter.Send(progress.Located, nil)
		var next string
		if err = ctx.Err(); err == nil && s.o.Approve != nil {
			if refused := s.o.Approve(ctx, *loc); refused != nil {
				err = &failure.RefusedError{Err: refused}
			}
		}
		if err == nil {
			got, next, err = fetch(ctx, src, loc, s, meter)
		}
		if err == nil && got == nil {
			if len(report.Via) == maxHops {
				err = fmt.Errorf("more than %d locations point to another location", maxHops)
			} else {
				report.Via = append(report.Via, loc.String())
				loc, err = loc.pointsTo(next)
			}
		}
		if err != nil {
			return nil, failure.Wrap("fetch", about, ended(ctx, err))
		}
	}
	defer got.root.Close()
	report.H1, report.Size, report.Commit, report.Skipped = got.h1, got.size, got.commit, got.skipped
	slices.Sort(report.Skipped)
	if want := s.want; !want.IsZero() && want != got.h1 {
		return nil, failure.Wrap("verify", about, &checksum.MismatchError{Source: "expected hash", Want: []checksum.Hash{want}, Got: []checksum.Hash{got.h1}})
	}
	if report.Subdir, err = findSubdir(ctx, got.root, loc.Subdir); err != nil {
		return nil, failure.Wrap("find a directory of", about, err)
	}
	if err := s.place(ctx, got, loc.Subdir); err != nil {
		return nil, failure.Wrap("store", about, ended(ctx, err))
	}
	report.Reused, report.Believed, report.Cached = got.reused, got.believed, got.cached
	stored := progress.Stored
	if got.reused {
		stored = progress.Reused
	}
	meter.Send(stored, nil)
	return report, nil
}

// fetch returns the package at loc, or the text of the next location.
func fetch(ctx context.Context, src Opener, loc *Location, s *staging, meter *progress.Meter) (got *unpacked, next string, err error) {
	if loc.isLocal() && !s.o.AllowLocal {
		return nil, "", fmt.Errorf("%w: set Options.AllowLocal to accept it", ErrLocal)
	}
	if !loc.MayBePage() {
		if got, err := s.reuse(ctx, loc.Subdir); got != nil || err != nil {
			return got, "", err
		}
	}
	if s.o.Cache == nil || s.unwritable != nil {
		return transfer(ctx, src, loc, s, meter)
	}
	got, err = s.o.Cache.fetch(ctx, loc, s, func() (got *unpacked, err error) {
		got, next, err = transfer(ctx, src, loc, s, meter)
		return got, err
	})
	return got, next, err
}

// transfer gets the package at loc from where it is, or the text of the next location.
func transfer(ctx context.Context, src Opener, loc *Location, s *staging, meter *progress.Meter) (got *unpacked, next string, err error) {
	switch {
	case loc.Kind == KindHTTP:
		got, next, err = receive(ctx, src, loc, s, meter)
		if errors.Is(err, failure.ErrChanged) && ctx.Err() == nil { // during the transfer: once more
			meter.Restart(err)
			got, next, err = receive(ctx, src, loc, s, meter)
		}
	case loc.Kind == KindLocal:
		got, err = readLocal(ctx, loc, s, meter)
	case loc.Kind == KindGit && s.o.Git != nil:
		got, err = s.o.Git.export(ctx, loc, s, meter)
	case s.o.Fetcher != nil:
		got, err = callFetcher(ctx, s.o.Fetcher, loc, s, meter)
	case loc.Kind == KindGit:
		err = &UnsupportedError{Kind: loc.Kind, Options: []string{"Git", "Fetcher"}}
	default:
		err = &UnsupportedError{Kind: loc.Kind, Getter: loc.Getter, Options: []string{"Fetcher"}}
	}
	return got, next, err
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

// ended adds the error of a context that has ended to err.
func ended(ctx context.Context, err error) error {
	if end := ctx.Err(); end != nil && !errors.Is(err, end) {
		return fmt.Errorf("%w: %w", end, err)
	}
	return err
}
