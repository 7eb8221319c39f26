package module

import (
	"context"
	"errors"
	"fmt"
	"net/url"
)

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
		if got, ok := j.reuse(loc); ok {
			return got, "", nil
		}
		if err := j.begin(); err != nil {
			return nil, "", err
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
