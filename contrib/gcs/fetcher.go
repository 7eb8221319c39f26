package gcs

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/failure"

	"golang.org/x/oauth2/google"

	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/storage/bucket"
	"github.com/tofureg/tofureg/transport"
)

// A Fetcher is a [module.Fetcher] for locations of [module.KindGCS]. The zero value makes anonymous requests. It is
// safe for concurrent use.
type Fetcher struct {
	// Credentials have the tokens of requests. If nil, requests are anonymous. Tokens are never sent over http.
	Credentials *google.Credentials

	// Buckets, if not nil, is called with the bucket of each location. An error refuses the location. If nil, each
	// bucket that the credentials can read is permitted.
	Buckets func(bucket string) error

	// Endpoint is the URL of the server, as in [Store].
	Endpoint string

	// Transport has the settings of requests. Its Credentials are not used. If nil, as in the zero Fetcher, the
	// zero settings are used.
	Transport *transport.Settings
}

var _ module.Fetcher = (*Fetcher)(nil)

// FetchModule downloads the package at loc into dir, with Limits, KeepLinks and SkipLinks of the options. The error
// wraps [failure.ErrNotFound] if the object is missing, or a [*module.UnsupportedError] for another kind of location.
// Other errors are as of [module.Download].
func (f *Fetcher) FetchModule(ctx context.Context, loc *module.Location, dir string, options module.Options) (skipped []string, err error) {
	name, object, err := parse(loc)
	if err == nil && f.Buckets != nil {
		err = f.Buckets(name)
	}
	if err != nil {
		return nil, err
	}
	a, err := newAPI(f.Endpoint, name, f.Credentials, f.Transport)
	if err != nil {
		return nil, err
	}
	format := loc.Archive
	if format == "" || format == "none" {
		if loc.Checksum+loc.Ref != "" {
			return nil, fmt.Errorf("location %s has a checksum or a generation, but is not an archive", loc)
		}
		return nil, a.directory(ctx, strings.TrimRight(object, "/")+"/", dir, options)
	}
	found := &module.Location{Kind: module.KindHTTP, URL: a.url("", object, nil).String(), Archive: format, Checksum: loc.Checksum}
	of := module.Options{Limits: options.Limits, KeepLinks: options.KeepLinks, SkipLinks: options.SkipLinks, Progress: options.Progress}
	report, err := module.Download(ctx, opener{a: a, object: object, generation: loc.Ref}, module.Request{Location: found, Dir: dir}, of)
	if err != nil {
		return nil, err
	}
	return report.Skipped, nil
}

// parse returns the bucket and the object of a location.
func parse(loc *module.Location) (bucket, object string, err error) {
	if loc.Kind != module.KindGCS {
		return "", "", &module.UnsupportedError{Kind: loc.Kind, Getter: loc.Getter}
	}
	u, err := url.Parse(loc.URL)
	if err != nil || u.User != nil || u.RawQuery != "" {
		return "", "", fmt.Errorf("invalid object URL in location %s, want no user and no parameter except archive and checksum", loc)
	}
	if u.Scheme != "https" {
		return "", "", fmt.Errorf("%w: scheme %q of location %s", failure.ErrInsecure, u.Scheme, loc)
	}
	parts := strings.SplitN(strings.TrimPrefix(u.Path, "/"), "/", 4)
	if !strings.HasSuffix(u.Host, ".googleapis.com") || len(parts) < 4 || parts[0] != "storage" || !strings.HasPrefix(parts[1], "v") || parts[2] == "" || strings.Trim(parts[3], "/") == "" {
		return "", "", fmt.Errorf("missing object in location %s, want https://www.googleapis.com/storage/v1/BUCKET/OBJECT", loc)
	}
	return parts[2], parts[3], nil
}

// opener opens an object for [module.Download].
type opener struct {
	module.Lister      // unused: nothing is listed for a location
	a                  *api
	object, generation string
}

// OpenModule implements [module.Opener].
func (o opener) OpenModule(ctx context.Context, _ *module.Location) (*module.Body, error) {
	body, err := o.a.open(ctx, o.object, o.generation)
	if err != nil {
		return nil, err
	}
	return &module.Body{ReadCloser: body, Size: body.Size, Resumes: body.Resumes}, nil
}

// directory downloads all objects with a prefix.
func (a *api) directory(ctx context.Context, prefix, dir string, options module.Options) error {
	err := bucket.Download(ctx, dir, prefix, options.Limits.Effective(), options.Progress, a.list(ctx, url.Values{"prefix": {prefix}}), func(o bucket.Object) (io.ReadCloser, error) {
		return a.open(ctx, o.Name, o.Generation)
	})
	if err != nil {
		err = fmt.Errorf("bucket %q: %w", a.bucket, err)
	}
	return err
}
