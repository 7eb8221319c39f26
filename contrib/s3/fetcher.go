package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A Fetcher is a [module.Fetcher] for locations of [module.KindS3]. The zero value sends unsigned
// requests. It is safe for concurrent use.
type Fetcher struct {
	// Credentials signs the requests. If nil, requests are not signed.
	Credentials aws.CredentialsProvider

	// Region is the region for locations without one. If empty, us-east-1 is used.
	Region string

	// Hosts, if not nil, is called with the host of each location before a request is signed, in the
	// form of VetoHost of [transport.Client]. An error refuses the location. If nil, only hosts of
	// amazonaws.com are permitted.
	Hosts func(host string) error

	// Transport has the settings of requests, of which Retries does not apply to lists. If nil, the zero
	// settings are used.
	Transport *transport.Client

	// Limits are the limits of a package; see [checksum.Limits].
	Limits checksum.Limits
}

var _ module.Fetcher = (*Fetcher)(nil)

// ErrHost means that a location is at a host that [Fetcher.Hosts] does not permit.
var ErrHost = errors.New("the host is not permitted")

// FetchModule downloads the package at loc into dir. The error wraps [module.ErrNotFound] if the object
// is missing, [ErrHost], or a [*module.UnsupportedError] for another kind of location. Other errors are
// those of [module.DownloadLocation].
func (f *Fetcher) FetchModule(ctx context.Context, loc *module.Location, dir string) error {
	o, err := parse(loc)
	if err == nil {
		err = f.permits(o)
	}
	if err != nil {
		return err
	}
	format := loc.Archive
	if format == module.FormatUnknown || format == module.FormatNone {
		if loc.Checksum != "" {
			return fmt.Errorf("location %s has a checksum, but is not an archive", loc)
		}
		return f.directory(ctx, o, dir)
	}
	found, err := f.presigned(ctx, o, o.key)
	if err != nil {
		return err
	}
	found.Archive, found.Checksum = format, loc.Checksum
	_, err = module.DownloadLocation(ctx, f.registry(), found, dir, module.Options{Limits: f.Limits})
	return err
}

func (f *Fetcher) registry() *regclient.Client { return &regclient.Client{Transport: f.Transport} }

func (f *Fetcher) client(o *object) *s3.Client {
	options := s3.Options{
		Region:       cmp.Or(o.region, f.Region, "us-east-1"),
		Credentials:  f.Credentials,
		UsePathStyle: o.endpoint != "",
	}
	if f.Credentials == nil {
		options.Credentials = aws.AnonymousCredentials{}
	}
	if o.endpoint != "" {
		options.BaseEndpoint = &o.endpoint
	}
	options.HTTPClient = f.guarded(o)
	return s3.New(options)
}

// presigned returns a location for one object. The URL is signed if there are credentials.
func (f *Fetcher) presigned(ctx context.Context, o *object, key string) (*module.Location, error) {
	in := &s3.GetObjectInput{Bucket: &o.bucket, Key: &key}
	if o.version != "" {
		in.VersionId = &o.version
	}
	request, err := s3.NewPresignClient(f.client(o)).PresignGetObject(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("sign the request for %q in bucket %q: %w", key, o.bucket, err)
	}
	u, err := url.Parse(request.URL)
	if err == nil {
		err = f.allowed(o, u)
	}
	if err != nil {
		return nil, err
	}
	return &module.Location{Kind: module.KindHTTP, URL: request.URL}, nil
}

// directory downloads all objects below a key.
func (f *Fetcher) directory(ctx context.Context, o *object, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	limits := f.Limits.Effective()
	left, entries := limits.Unpacked, 0
	prefix := o.key + "/"
	pages := s3.NewListObjectsV2Paginator(f.client(o), &s3.ListObjectsV2Input{Bucket: &o.bucket, Prefix: &prefix})
	for empty := 0; pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list %q in bucket %q: %w", prefix, o.bucket, err)
		}
		if len(page.Contents) == 0 {
			if empty++; empty > maxEmptyPages {
				return fmt.Errorf("%w: more than %d empty pages in the list of %q", module.ErrTooLarge, maxEmptyPages, prefix)
			}
		}
		for _, found := range page.Contents {
			name := strings.TrimPrefix(aws.ToString(found.Key), prefix)
			if name == "" || strings.HasSuffix(name, "/") {
				continue // placeholder of a directory
			}
			if entries++; entries > limits.Entries {
				return fmt.Errorf("%w: more than %d objects", module.ErrTooLarge, limits.Entries)
			}
			if left -= aws.ToInt64(found.Size); left < 0 {
				return fmt.Errorf("%w: more than %d bytes in total", module.ErrTooLarge, limits.Unpacked)
			}
			if err := f.file(ctx, o, root, prefix+name, name, aws.ToInt64(found.Size)); err != nil {
				return err
			}
		}
	}
	if entries == 0 {
		return fmt.Errorf("%q in bucket %q: %w", prefix, o.bucket, module.ErrNotFound)
	}
	return nil
}

// file downloads one object of a directory. Names cannot leave the root.
func (f *Fetcher) file(ctx context.Context, o *object, root *os.Root, key, name string, size int64) error {
	loc, err := f.presigned(ctx, o, key)
	if err != nil {
		return err
	}
	loc.Direct = true // not a web page
	body, err := f.registry().OpenModule(ctx, loc)
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
		err = fmt.Errorf("object %q is at least %d bytes, want %d: %w", key, n, size, module.ErrChanged)
	}
	return errors.Join(err, file.Close())
}
