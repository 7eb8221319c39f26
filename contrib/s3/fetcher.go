package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tofureg/tofureg/internal/bucket"
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
	of := module.Options{Limits: options.Limits, KeepLinks: options.KeepLinks, SkipLinks: options.SkipLinks}
	report, err := module.Download(ctx, f.registry(), module.Request{Location: found, Dir: dir}, of)
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
	prefix, atMost := o.key+"/", int32(pageKeys)
	list := s3.NewListObjectsV2Paginator(f.client(o, f.credentials(o)), &s3.ListObjectsV2Input{Bucket: &o.bucket, Prefix: &prefix, MaxKeys: &atMost})
	pages := func(yield func([]bucket.Object, error) bool) {
		for list.HasMorePages() {
			page, err := list.NextPage(ctx)
			if err != nil {
				yield(nil, printable(err))
				return
			}
			objects := make([]bucket.Object, len(page.Contents))
			for i, found := range page.Contents {
				objects[i] = bucket.Object{Name: aws.ToString(found.Key), Size: aws.ToInt64(found.Size)}
			}
			if !yield(objects, nil) {
				return
			}
		}
	}
	err := bucket.Download(ctx, dir, prefix, limits, pages, func(found bucket.Object) (io.ReadCloser, error) {
		loc, err := f.object(ctx, o, found.Name)
		if err != nil {
			return nil, err
		}
		loc.Direct = true // not a web page
		return f.registry().OpenModule(ctx, loc)
	})
	if err != nil {
		err = fmt.Errorf("bucket %q: %w", o.bucket, err)
	}
	return err
}
