package gcs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"strings"

	"golang.org/x/oauth2/google"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

// maxEmptyPages limits the pages of a list without an object.
const maxEmptyPages = 100

// A Fetcher is a [module.Fetcher] for locations of [module.KindGCS]. The zero value makes anonymous requests. It is
// safe for concurrent use.
type Fetcher struct {
	// Credentials have the tokens of requests. If nil, requests are anonymous. Tokens are never sent over http.
	Credentials *google.Credentials

	// Buckets, if not nil, is called with the bucket of each location. An error refuses the location. If nil, each
	// bucket that the credentials can read is permitted.
	Buckets func(bucket string) error

	// Endpoint is the URL of the server, as that of [Store].
	Endpoint string

	// Transport has the settings of requests. Its Credentials are not used. If nil, as in the zero Fetcher, the
	// zero settings are used.
	Transport *transport.Client
}

var _ module.Fetcher = (*Fetcher)(nil)

// FetchModule downloads the package at loc into dir, with Limits, KeepLinks and SkipLinks of the options. The error
// wraps [module.ErrNotFound] if the object is missing, or a [*module.UnsupportedError] for another kind of location.
// Other errors are those of [module.Download].
func (f *Fetcher) FetchModule(ctx context.Context, loc *module.Location, dir string, options module.Options) (skipped []string, err error) {
	bucket, object, err := parse(loc)
	if err == nil && f.Buckets != nil {
		err = f.Buckets(bucket)
	}
	if err != nil {
		return nil, err
	}
	a, err := newAPI(f.Endpoint, bucket, f.Credentials, f.Transport)
	if err != nil {
		return nil, err
	}
	format := loc.Archive
	if format == "" || format == "none" {
		if loc.Checksum != "" {
			return nil, fmt.Errorf("location %s has a checksum, but is not an archive", loc)
		}
		return nil, a.directory(ctx, strings.TrimRight(object, "/")+"/", dir, options.Limits.Effective())
	}
	found := &module.Location{Kind: module.KindHTTP, URL: a.url("", object, nil).String(), Archive: format, Checksum: loc.Checksum}
	report, err := module.Download(ctx, opener{a: a, object: object}, module.Request{Location: found, Dir: dir}, module.Options{Limits: options.Limits, KeepLinks: options.KeepLinks, SkipLinks: options.SkipLinks})
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
		return "", "", fmt.Errorf("%w: scheme %q of location %s", module.ErrInsecure, u.Scheme, loc)
	}
	parts := strings.SplitN(strings.TrimPrefix(u.Path, "/"), "/", 4)
	if !strings.HasSuffix(u.Host, ".googleapis.com") || len(parts) < 4 || parts[0] != "storage" || !strings.HasPrefix(parts[1], "v") || parts[2] == "" || strings.Trim(parts[3], "/") == "" {
		return "", "", fmt.Errorf("missing object in location %s, want https://www.googleapis.com/storage/v1/BUCKET/OBJECT", loc)
	}
	return parts[2], parts[3], nil
}

// opener opens an object for [module.Download].
type opener struct {
	module.Lister // unused: nothing is listed for a location
	a             *api
	object        string
}

// OpenModule implements [module.Opener].
func (o opener) OpenModule(ctx context.Context, _ *module.Location) (*module.Body, error) {
	body, err := o.a.open(ctx, o.object, "")
	if err != nil {
		return nil, err
	}
	return &module.Body{ReadCloser: body, Size: body.Size, Resumes: body.Resumes}, nil
}

// directory downloads all objects with a prefix.
func (a *api) directory(ctx context.Context, prefix, dir string, limits checksum.Limits) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left, entries, files, empty := limits.Unpacked, 0, 0, 0
	for page, err := range a.list(ctx, url.Values{"prefix": {prefix}}) {
		if err != nil {
			return fmt.Errorf("list %q in bucket %q: %w", prefix, a.bucket, err)
		}
		if len(page.Items) == 0 {
			if empty++; empty > maxEmptyPages {
				return fmt.Errorf("%w: more than %d empty pages in the list of %q", failure.ErrTooLarge, maxEmptyPages, prefix)
			}
		}
		for _, found := range page.Items {
			if entries++; entries > limits.Entries {
				return fmt.Errorf("%w: more than %d objects", failure.ErrTooLarge, limits.Entries)
			}
			name, ok := strings.CutPrefix(found.Name, prefix)
			if !ok {
				return fmt.Errorf("the list of %q has the object %.200q", prefix, found.Name)
			}
			if name == "" || strings.HasSuffix(name, "/") {
				continue // placeholder of a directory
			}
			if left -= max(0, found.Size); left < 0 {
				return fmt.Errorf("%w: more than %d bytes in total", failure.ErrTooLarge, limits.Unpacked)
			}
			if err := a.file(ctx, root, found.Name, found.Generation, name, found.Size); err != nil {
				return fmt.Errorf("object %.200q in bucket %q: %w", found.Name, a.bucket, fault.Printable(err))
			}
			files++
		}
	}
	if files == 0 {
		return fmt.Errorf("%q in bucket %q: %w", prefix, a.bucket, module.ErrNotFound)
	}
	return nil
}

// file downloads one object of a directory. Names cannot leave the root.
func (a *api) file(ctx context.Context, root *os.Root, object, generation, name string, size int64) error {
	body, err := a.open(ctx, object, generation)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, io.LimitReader(body, size+1))
	if err == nil && n != size {
		err = fmt.Errorf("it is at least %d bytes, want %d: %w", n, size, module.ErrChanged)
	}
	return errors.Join(err, file.Close())
}
