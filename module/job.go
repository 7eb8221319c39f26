package module

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// job downloads one package.
type job struct {
	src     Opener
	o       Options
	limits  checksum.Limits     // the effective ones
	dir     string              // as the caller named it
	target  string              // absolute
	match   fs.FileInfo         // the target if it has Options.H1, otherwise nil
	staging *staging            // nil until something is written
	xz      *semaphore.Weighted // bounds the tar.xz that are unpacked concurrently
	meter   *flight.Meter
	shown   string // the current location, safe to print
	report  Report
}

func newJob(ctx context.Context, src Opener, dir string, o Options, xz *semaphore.Weighted) (*job, error) {
	if !o.H1.IsZero() && o.H1.Scheme() != checksum.SchemeH1 {
		return nil, fmt.Errorf("Options.H1 has scheme %s, want %s", o.H1.Scheme(), checksum.SchemeH1)
	}
	target, err := cleanTarget(dir)
	if err != nil {
		return nil, err
	}
	if err := checkTarget(filepath.Clean(dir), o.Replace); err != nil {
		return nil, err
	}
	j := &job{src: src, o: o, limits: o.Limits.Effective(), dir: dir, target: target, xz: xz}
	if j.match = j.findTarget(ctx, o.H1, ""); j.match == nil {
		return j, j.ensureStaging(ctx)
	}
	fsx.SweepParts(ctx, filepath.Dir(target)) // as newStaging does
	return j, nil
}

// ensureStaging creates the staging directory unless it exists.
func (j *job) ensureStaging(ctx context.Context) (err error) {
	if j.staging == nil {
		j.staging, err = newStaging(ctx, j.target, j.o.Replace)
	}
	return err
}

// discard removes the staging directory. If ctx has ended, the next sweep removes the rest.
func (j *job) discard(ctx context.Context) {
	if j.staging != nil {
		j.staging.part.Discard(ctx)
	}
}

// run downloads the package that starts at a location.
func (j *job) run(ctx context.Context, start *Location) (*Report, error) {
	about := subject(start)
	loc, err := start.checked()
	if err != nil {
		return nil, failed("fetch", about, err)
	}
	j.meter = j.newMeter(loc.Module, loc.Version)
	got, loc, err := j.follow(ctx, loc)
	if err != nil {
		return nil, failed("fetch", about, ended(ctx, err))
	}
	defer got.root.Close()
	j.report.Module, j.report.Version = loc.Module, loc.Version
	j.report.Location, j.report.Dir, j.report.H1 = loc.String(), j.dir, got.h1
	if want := j.o.H1; !want.IsZero() && want != got.h1 {
		return nil, failed("verify", about, &checksum.MismatchError{Source: "expected hash", Want: []checksum.Hash{want}, Got: []checksum.Hash{got.h1}})
	}
	if j.report.Subdir, err = findSubdir(got.root, loc.Subdir); err != nil {
		return nil, failed("find a directory of", about, err)
	}
	if err := j.place(ctx, got, loc); err != nil {
		return nil, failed("store", about, ended(ctx, err))
	}
	report := j.report
	slices.Sort(report.Skipped)
	return &report, nil
}

// place moves the package to the target, unless the target already has it.
func (j *job) place(ctx context.Context, got *unpacked, loc *Location) error {
	j.report.Reused = got.reused || j.findTarget(ctx, got.h1, loc.Subdir) != nil
	if j.report.Reused {
		j.meter.Report(string(EventReused), nil)
		return nil
	}
	if err := j.staging.commit(ctx, got.root); err != nil {
		return err
	}
	j.meter.Report(string(EventStored), nil)
	return nil
}

// ended adds the error of a context that has ended to err.
func ended(ctx context.Context, err error) error {
	if end := ctx.Err(); end != nil && !errors.Is(err, end) {
		return fmt.Errorf("%w: %w", end, err)
	}
	return err
}

// follow fetches from location to location until it has a package.
func (j *job) follow(ctx context.Context, loc *Location) (*unpacked, *Location, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		j.shown, j.meter.Bytes, j.meter.Total = loc.String(), 0, 0
		j.meter.Report(string(EventLocated), nil)
		got, next, err := j.fetch(ctx, loc)
		if err != nil || next == "" {
			return got, loc, err
		}
		if len(j.report.Via) == MaxHops {
			return nil, nil, fmt.Errorf("more than %d locations point to another location", MaxHops)
		}
		j.report.Via = append(j.report.Via, loc.String())
		if loc, err = loc.pointsTo(next); err != nil {
			return nil, nil, err
		}
	}
}

// pointsTo returns the location that the server at l named. It is for the same module, is not
// on this machine, and has no credentials.
func (l *Location) pointsTo(text string) (*Location, error) {
	if l.Checksum != "" {
		return nil, errors.New("the location has a checksum, but is a page and not an archive")
	}
	base, err := l.parsedURL()
	if err != nil {
		return nil, err
	}
	next, err := ResolveLocation(base, text)
	if err != nil {
		return nil, err
	}
	if err := next.checkRemote(); err != nil {
		return nil, err
	}
	next.Module, next.Version = l.Module, l.Version
	return next.WithSubdir(l.Subdir)
}

// fetch returns the package at loc, or the text of the next location.
func (j *job) fetch(ctx context.Context, loc *Location) (*unpacked, string, error) {
	if loc.isLocal() && !j.o.AllowLocal {
		return nil, "", fmt.Errorf("%w: set Options.AllowLocal to accept it", ErrLocal)
	}
	if !loc.MayBePage() {
		if got, err := j.reuse(ctx, loc); got != nil || err != nil {
			return got, "", err
		}
	}
	switch {
	case loc.Kind == KindHTTP:
		return j.receiveTwice(ctx, loc)
	case loc.Kind == KindLocal:
		got, err := j.fetchLocal(ctx, loc)
		return got, "", err
	case loc.Kind == KindGit && j.o.Git != nil:
		got, err := j.fetchGit(ctx, loc)
		return got, "", err
	case j.o.Fetcher != nil:
		got, err := j.fetchWithFetcher(ctx, loc)
		return got, "", err
	case loc.Kind == KindGit:
		return nil, "", &UnsupportedError{Kind: loc.Kind, Options: []string{"Git", "Fetcher"}}
	}
	return nil, "", &UnsupportedError{Kind: loc.Kind, Getter: loc.Getter, Options: []string{"Fetcher"}}
}

// checkRemote refuses a location on this machine, because a server must not name it.
func (l *Location) checkRemote() error {
	if l.isLocal() {
		return fmt.Errorf("%w: a server must not name %q", ErrLocal, l)
	}
	return nil
}

// isLocal reports whether local files would be read, by any method.
func (l *Location) isLocal() bool {
	u, err := url.Parse(l.URL)
	return err != nil || l.Kind == KindLocal || u.Scheme == "file"
}
