package module

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// job brings one package to its place.
type job struct {
	src    Opener
	o      Options
	limits checksum.Limits // effective
	dir    string          // as the caller named it
	target string          // absolute
	there  fs.FileInfo     // the target that was found to have Options.H1; nil: none was
	stage  *stage          // nil: nothing is to be written yet
	meter  *flight.Meter
	at     string // the location that is asked, safe to print
	report Report
}

func newJob(ctx context.Context, src Opener, dir string, o Options) (*job, error) {
	if !o.H1.IsZero() && o.H1.Scheme() != checksum.SchemeH1 {
		return nil, fmt.Errorf("Options.H1 is of scheme %s, not %s", o.H1.Scheme(), checksum.SchemeH1)
	}
	target, err := cleanTarget(dir)
	if err != nil {
		return nil, err
	}
	if err := vacant(filepath.Clean(dir), o.Replace); err != nil {
		return nil, err
	}
	j := &job{src: src, o: o, limits: o.Limits.Effective(), dir: dir, target: target}
	if j.there = j.find(ctx, o.H1, ""); j.there == nil {
		return j, j.begin()
	}
	fsx.SweepParts(filepath.Dir(target)) // as a stage would
	return j, nil
}

// begin makes sure that there is a stage, before anything is fetched that could find no
// place.
func (j *job) begin() (err error) {
	if j.stage == nil {
		j.stage, err = newStage(j.target, j.o.Replace)
	}
	return err
}

// discard removes what is not at its place.
func (j *job) discard() {
	if j.stage != nil {
		j.stage.part.Discard()
	}
}

// run does the whole work for the location that it starts from.
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
	if j.report.Subdir, err = locate(got.root, loc.Subdir); err != nil {
		return nil, failed("find a directory of", about, err)
	}
	if err := j.place(ctx, got, loc); err != nil {
		return nil, failed("store", about, ended(ctx, err))
	}
	report := j.report
	slices.Sort(report.Skipped)
	return &report, nil
}

// place puts the package at the target, unless it is there.
func (j *job) place(ctx context.Context, got *pack, loc *Location) error {
	j.report.Reused = got.reused || j.find(ctx, got.h1, loc.Subdir) != nil
	if j.report.Reused {
		j.meter.Report(string(EventReused), nil)
		return nil
	}
	if err := j.stage.commit(ctx, got.root); err != nil {
		return err
	}
	j.meter.Report(string(EventStored), nil)
	return nil
}

// ended makes sure that the error of a job whose context has ended says so, whatever
// cause the context was given.
func ended(ctx context.Context, err error) error {
	if end := ctx.Err(); end != nil && !errors.Is(err, end) {
		return fmt.Errorf("%w: %w", end, err)
	}
	return err
}

// follow fetches from location to location until a package comes.
func (j *job) follow(ctx context.Context, loc *Location) (*pack, *Location, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		j.at, j.meter.Bytes, j.meter.Total = loc.String(), 0, 0
		j.meter.Report(string(EventLocated), nil)
		got, next, err := j.fetch(ctx, loc)
		if err != nil || next == "" {
			return got, loc, err
		}
		if len(j.report.Via) == MaxHops {
			return nil, nil, fmt.Errorf("locations pointed to others more than %d times", MaxHops)
		}
		j.report.Via = append(j.report.Via, loc.String())
		if loc, err = loc.pointsTo(next); err != nil {
			return nil, nil, err
		}
	}
}

// pointsTo returns the location that the server at l named. It is for the same
// module, is not on this machine, and no credentials go along.
func (l *Location) pointsTo(text string) (*Location, error) {
	if l.Checksum != "" {
		return nil, errors.New("there is a page in place of the archive that the checksum is for")
	}
	base, err := l.parsed()
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

// fetch gets what is at loc: a package, or the text of the next location.
func (j *job) fetch(ctx context.Context, loc *Location) (*pack, string, error) {
	if loc.isLocal() && !j.o.AllowLocal {
		return nil, "", fmt.Errorf("%w, which only Options.AllowLocal permits", ErrLocal)
	}
	if !loc.MayBePage() {
		if got, err := j.reuse(loc); got != nil || err != nil {
			return got, "", err
		}
	}
	switch {
	case loc.Kind == KindHTTP:
		return j.receiveTwice(ctx, loc)
	case loc.Kind == KindLocal:
		got, err := j.local(ctx, loc)
		return got, "", err
	case loc.Kind == KindGit && j.o.Git != nil:
		got, err := j.git(ctx, loc)
		return got, "", err
	case j.o.Fetcher != nil:
		got, err := j.plugged(ctx, loc)
		return got, "", err
	case loc.Kind == KindGit:
		return nil, "", &UnsupportedError{Kind: loc.Kind, Options: []string{"Git", "Fetcher"}}
	}
	return nil, "", &UnsupportedError{Kind: loc.Kind, Getter: loc.Getter, Options: []string{"Fetcher"}}
}

// checkRemote refuses a location on this machine that the caller did not name.
func (l *Location) checkRemote() error {
	if l.isLocal() {
		return fmt.Errorf("%w: a server must not name %s", ErrLocal, l)
	}
	return nil
}

// isLocal reports whether files of this machine would be read, by whatever means.
func (l *Location) isLocal() bool {
	u, err := url.Parse(l.URL)
	return err != nil || l.Kind == KindLocal || u.Scheme == "file"
}
