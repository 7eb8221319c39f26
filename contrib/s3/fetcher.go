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

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A Fetcher is a [module.Fetcher] for locations of [module.KindS3]. The zero value sends unsigned
// requests. It is safe for concurrent use.
type Fetcher struct {
	// Credentials signs the requests. If nil, requests are not signed. Requests over http, which
	// AllowHTTP of Transport permits, are never signed.
	Credentials aws.CredentialsProvider

	// Region is the region for locations without one. If empty, us-east-1 is used.
	Region string

	// Hosts, if not nil, is called with the host of each location before a request is signed, in the
	// form of VetoHost of [transport.Client]. An error refuses the location. If nil, only hosts of
	// amazonaws.com are permitted.
	Hosts func(host string) error

	// Transport has the settings of requests, of which Retries does not apply to lists. If nil, as in
	// the zero Fetcher, the zero settings are used.
	Transport *transport.Client
}

var _ module.Fetcher = (*Fetcher)(nil)

// ErrHost means that a location is at a host that [Fetcher.Hosts] does not permit.
var ErrHost = errors.New("the host is not permitted")

// FetchModule downloads the package at loc into dir, with Limits, KeepLinks and SkipLinks of the options. The
// error wraps [module.ErrNotFound] if the object is missing, [ErrHost], or a [*module.UnsupportedError] for another kind of
// location. Other errors are those of [module.Download].
func (f *Fetcher) FetchModule(ctx context.Context, loc *module.Location, dir string, options module.Options) (skipped []string, err error) {
	o, err := parse(loc)
	if err == nil {
		err = f.permits(o)
	}
	if err != nil {
		return nil, err
	}
	format := loc.Archive
	if format == "" || format == "none" {
		if loc.Checksum != "" {
			return nil, fmt.Errorf("location %s has a checksum, but is not an archive", loc)
		}
		return nil, f.directory(ctx, o, dir, options.Limits.Effective())
	}
	found, err := f.object(ctx, o, o.key)
	if err != nil {
		return nil, err
	}
	found.Archive, found.Checksum = format, loc.Checksum
	report, err := module.Download(ctx, f.registry(), module.Request{Location: found, Dir: dir}, module.Options{Limits: options.Limits, KeepLinks: options.KeepLinks, SkipLinks: options.SkipLinks})
	if err != nil {
		return nil, err
	}
	return report.Skipped, nil
}

func (f *Fetcher) registry() *regclient.Client { return &regclient.Client{Transport: f.Transport} }

// credentials returns what signs the requests for o, or nil.
func (f *Fetcher) credentials(o *object) aws.CredentialsProvider {
	if strings.HasPrefix(o.endpoint, "http:") {
		return nil
	}
	return f.Credentials
}

func (f *Fetcher) client(o *object, signer aws.CredentialsProvider) *s3.Client {
	options := s3.Options{
		Region:       cmp.Or(o.region, f.Region, "us-east-1"),
		Credentials:  cmp.Or[aws.CredentialsProvider](signer, aws.AnonymousCredentials{}),
		UsePathStyle: o.endpoint != "",
	}
	if o.endpoint != "" {
		options.BaseEndpoint = &o.endpoint
	}
	options.HTTPClient = f.guarded(o)
	return s3.New(options)
}

// object returns a location for one object. The URL is signed if there are credentials.
func (f *Fetcher) object(ctx context.Context, o *object, key string) (*module.Location, error) {
	in := &s3.GetObjectInput{Bucket: &o.bucket, Key: &key}
	if o.version != "" {
		in.VersionId = &o.version
	}
	signer := f.credentials(o)
	client := f.client(o, cmp.Or[aws.CredentialsProvider](signer, nobody{}))
	request, err := s3.NewPresignClient(client).PresignGetObject(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("sign the request for %q in bucket %q: %w", key, o.bucket, printable(err))
	}
	u, err := url.Parse(request.URL)
	if err == nil {
		err = f.allowed(o, u)
	}
	if err != nil {
		return nil, err
	}
	if signer == nil {
		u.RawQuery = ""
		if o.version != "" {
			u.RawQuery = url.Values{"versionId": {o.version}}.Encode()
		}
	}
	return &module.Location{Kind: module.KindHTTP, URL: u.String()}, nil
}

// nobody signs URLs whose signature is removed, because the SDK makes no URLs without one.
type nobody struct{}

func (nobody) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "nobody", SecretAccessKey: "nobody"}, nil
}

// directory downloads all objects below a key.
func (f *Fetcher) directory(ctx context.Context, o *object, dir string, limits checksum.Limits) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left, entries, files, empty := limits.Unpacked, 0, 0, 0
	prefix, atMost := o.key+"/", int32(pageKeys)
	pages := s3.NewListObjectsV2Paginator(f.client(o, f.credentials(o)), &s3.ListObjectsV2Input{Bucket: &o.bucket, Prefix: &prefix, MaxKeys: &atMost})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list %q in bucket %q: %w", prefix, o.bucket, printable(err))
		}
		if len(page.Contents) == 0 {
			if empty++; empty > maxEmptyPages {
				return fmt.Errorf("%w: more than %d empty pages in the list of %q", failure.ErrTooLarge, maxEmptyPages, prefix)
			}
		}
		for _, found := range page.Contents {
			if entries++; entries > limits.Entries {
				return fmt.Errorf("%w: more than %d objects", failure.ErrTooLarge, limits.Entries)
			}
			key := aws.ToString(found.Key)
			name, ok := strings.CutPrefix(key, prefix)
			if !ok {
				return fmt.Errorf("the list of %q has the object %.200q", prefix, key)
			}
			if name == "" || strings.HasSuffix(name, "/") {
				continue // placeholder of a directory
			}
			if left -= aws.ToInt64(found.Size); left < 0 {
				return fmt.Errorf("%w: more than %d bytes in total", failure.ErrTooLarge, limits.Unpacked)
			}
			if err := f.file(ctx, o, root, key, name, aws.ToInt64(found.Size)); err != nil {
				return printable(err)
			}
			files++
		}
	}
	if files == 0 {
		return fmt.Errorf("%q in bucket %q: %w", prefix, o.bucket, module.ErrNotFound)
	}
	return nil
}

// file downloads one object of a directory. Names cannot leave the root.
func (f *Fetcher) file(ctx context.Context, o *object, root *os.Root, key, name string, size int64) error {
	loc, err := f.object(ctx, o, key)
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
