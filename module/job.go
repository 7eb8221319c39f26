package module

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/verify"
)

// job brings one package to its place.
type job struct {
	src    Opener
	o      Options
	limits verify.Limits // effective
	dir    string        // as the caller named it
	stage  *stage
	meter  *meter
	report Report
}

func newJob(src Opener, dir string, o Options) (*job, error) {
	if !o.H1.IsZero() && o.H1.Scheme() != verify.SchemeH1 {
		return nil, fmt.Errorf("Options.H1 is of scheme %s, not %s", o.H1.Scheme(), verify.SchemeH1)
	}
	s, err := newStage(dir)
	if err != nil {
		return nil, err
	}
	return &job{src: src, o: o, limits: o.Limits.Effective(), dir: dir, stage: s}, nil
}

// run does the whole work for the location that it starts from.
func (j *job) run(ctx context.Context, start *Location) (*Report, error) {
	about := subject(start)
	loc, err := start.checked()
	if err != nil {
		return nil, failure("fetch", about, err)
	}
	j.meter = newMeter(j.o.Progress, loc, j.dir)
	got, loc, err := j.follow(ctx, loc)
	if err != nil {
		return nil, failure("fetch", about, ended(ctx, err))
	}
	defer got.root.Close()
	j.report.Module, j.report.Version = loc.Module, loc.Version
	j.report.Location, j.report.Dir, j.report.H1 = loc.String(), j.dir, got.h1
	if err := j.demand(got.h1); err != nil {
		return nil, failure("verify", about, err)
	}
	if j.report.Subdir, err = locate(got.root, loc.Subdir); err != nil {
		return nil, failure("find a directory of", about, err)
	}
	if err := j.stage.commit(ctx, got.root); err != nil {
		return nil, failure("store", about, ended(ctx, err))
	}
	j.meter.stored()
	report := j.report
	return &report, nil
}

// ended makes sure that the error of a job whose context has ended says so, whatever
// cause the context was given.
func ended(ctx context.Context, err error) error {
	if end := ctx.Err(); end != nil && !errors.Is(err, end) {
		return fmt.Errorf("%w: %w", end, err)
	}
	return err
}

// demand compares the hash with the one that the caller wants.
func (j *job) demand(got verify.Hash) error {
	if j.o.H1.IsZero() || j.o.H1 == got {
		return nil
	}
	return &verify.MismatchError{Source: "expected hash", Want: []verify.Hash{j.o.H1}, Got: []verify.Hash{got}}
}

// A pack is a package in the stage.
type pack struct {
	root *os.Root
	h1   verify.Hash
}

// follow fetches from location to location until a package comes.
func (j *job) follow(ctx context.Context, loc *Location) (*pack, *Location, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		j.meter.located(loc)
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
// module, but no credentials go along.
func (l *Location) pointsTo(text string) (*Location, error) {
	if l.Checksum != "" {
		return nil, errors.New("there is a page in place of the archive that the checksum is for")
	}
	base, err := url.Parse(l.URL)
	if err != nil {
		return nil, refuse(l.URL, "this is no URL")
	}
	next, err := ResolveLocation(base, text)
	if err != nil {
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

// isLocal reports whether files of this machine would be read, by whatever means.
func (l *Location) isLocal() bool {
	u, err := url.Parse(l.URL)
	return err != nil || l.Kind == KindLocal || u.Scheme == "file"
}

// fill makes a package of what unpack writes.
func (j *job) fill(unpack func(root *os.Root) ([]archive.File, error)) (*pack, error) {
	root, err := j.stage.tree()
	if err != nil {
		return nil, err
	}
	j.report.Skipped = nil
	files, err := unpack(root)
	if err == nil {
		files, err = withoutControl(root, files)
	}
	if err == nil {
		var h1 verify.Hash
		if h1, err = hashOf(files); err == nil {
			return &pack{root, h1}, nil
		}
	}
	root.Close()
	return nil, hinted(err)
}

// withoutControl removes what version control keeps for itself: the repository of
// whoever packed the files, or one made up, with settings that run programs as soon as
// git looks at it. It is no part of a package.
func withoutControl(root *os.Root, files []archive.File) ([]archive.File, error) {
	kept := make([]archive.File, 0, len(files))
	removed := map[string]bool{}
	for _, f := range files {
		dir := controlDir(f.Name)
		if dir == "" {
			kept = append(kept, f)
			continue
		}
		if removed[dir] {
			continue
		}
		removed[dir] = true
		if err := root.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	if len(kept) == 0 && len(files) > 0 {
		return nil, fmt.Errorf("%w: there is nothing in it but a repository", ErrArchive)
	}
	return kept, nil
}

// hinted tells what to do about a link.
func hinted(err error) error {
	if errors.Is(err, ErrLink) {
		return fmt.Errorf("%w; Options.SkipLinks would leave it out", err)
	}
	return err
}

// hashOf returns the h1 of files that have been hashed while they were written.
func hashOf(files []archive.File) (verify.Hash, error) {
	return verify.H1Sum(func(yield func(string, [32]byte) bool) {
		for _, f := range files {
			if !f.IsDir() && !yield(f.Name, f.Sum) {
				return
			}
		}
	})
}

// maxSkipped bounds the list in a report.
const maxSkipped = 1000

// skip notes what is left out.
func (j *job) skip(name string) {
	if len(j.report.Skipped) < maxSkipped {
		j.report.Skipped = append(j.report.Skipped, name)
	}
}

// skipper is skip if links may be left out, otherwise nil.
func (j *job) skipper() func(string) {
	if !j.o.SkipLinks {
		return nil
	}
	return j.skip
}

// receiveTwice receives an archive, once more if it changes on the way.
func (j *job) receiveTwice(ctx context.Context, loc *Location) (*pack, string, error) {
	got, next, err := j.receive(ctx, loc)
	if errors.Is(err, fault.ErrChanged) && ctx.Err() == nil {
		j.meter.restarted(err)
		got, next, err = j.receive(ctx, loc)
	}
	slices.Sort(j.report.Skipped)
	return got, next, err
}

func (j *job) receive(ctx context.Context, loc *Location) (*pack, string, error) {
	if j.src == nil {
		return nil, "", errors.New("there is no source to fetch it from")
	}
	body, err := j.src.OpenModule(ctx, loc)
	if err != nil {
		return nil, "", err
	}
	if body == nil || body.ReadCloser == nil {
		return nil, "", errors.New("the source returned no body")
	}
	defer body.Close()
	if loc.MayBePage() && body.Next != "" {
		return nil, body.Next, nil
	}
	return j.arrive(ctx, loc, body)
}
