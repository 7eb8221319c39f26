package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/storage/bucket"
	"github.com/tofureg/tofureg/transport"
)

// A Fetcher is a [module.Fetcher] for locations of [module.KindS3]. The zero value sends unsigned
// requests. It is safe for concurrent use.
type Fetcher struct {
	// Credentials signs the requests. If nil, requests are not signed. Requests over http, which
	// AllowHTTP of Transport permits, are never signed.
	Credentials aws.CredentialsProvider

	// Region is the region for locations whose host and parameters tell none, such as those of accelerated buckets
	// and of other stores. If empty, such locations are errors, unless Credentials is nil.
	Region string

	// Hosts, if not nil, is called with the host of each location before a request is signed, in the
	// form of VetoHost of [transport.Settings]. An error refuses the location. If nil, only hosts of S3
	// at amazonaws.com and amazonaws.com.cn are permitted.
	Hosts func(host string) error

	// Transport has the settings of requests. If nil, as in the zero Fetcher, the zero settings are used.
	Transport *transport.Settings
}

var _ module.Fetcher = (*Fetcher)(nil)

// ErrHost means that a location is at a host that [Fetcher.Hosts] does not permit.
var ErrHost = errors.New("the host is not permitted")

// FetchModule downloads the package at loc into dir, with Limits, KeepLinks and SkipLinks of the options. The
// error wraps [failure.ErrNotFound] if the object is missing, [ErrHost], or a [*module.UnsupportedError] for another kind of
// location. Other errors are as of [module.Download].
func (f *Fetcher) FetchModule(ctx context.Context, loc *module.Location, dir string, options module.Options) (skipped []string, err error) {
	o, err := parse(loc)
	if err == nil {
		o.region = cmp.Or(o.region, f.Region)
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
		return nil, o.explain(f.directory(ctx, o, dir, options))
	}
	found, err := f.object(ctx, o, o.key)
	if err != nil {
		return nil, err
	}
	found.Archive, found.Checksum = format, loc.Checksum
	of := module.Options{Limits: options.Limits, KeepLinks: options.KeepLinks, SkipLinks: options.SkipLinks, Progress: options.Progress}
	report, err := module.Download(ctx, f.registry(), module.Request{Location: found, Dir: dir}, of)
	if err != nil {
		return nil, o.explain(err)
	}
	return report.Skipped, nil
}

// explain adds the remedy to err if the answer can mean that the bucket is in another region.
func (o *object) explain(err error) error {
	status, in := 0, ""
	if e, ok := errors.AsType[*failure.RequestError](err); ok {
		status = e.Status
	} else if e, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		status, in = e.HTTPStatusCode(), e.Response.Header.Get("X-Amz-Bucket-Region")
	}
	if !o.amazon || status != http.StatusBadRequest && status/100 != 3 {
		return err
	}
	if !regionOnly.MatchString(in) {
		in = "REGION"
	}
	return fmt.Errorf("%w; the request was for the region %q: if the bucket is in another one, name that in the host, as in s3.%s.amazonaws.com, or in the parameter region", err, o.region, in)
}

func (f *Fetcher) registry() *regclient.Client { return &regclient.Client{Transport: f.Transport} }

// credentials returns what signs the requests for o, or nil.
func (f *Fetcher) credentials(o *object) aws.CredentialsProvider {
	if strings.HasPrefix(o.endpoint, "http:") {
		return nil
	}
	return f.Credentials
}

// client returns a client that signs for the region of o. Without one, it is an error to sign.
func (f *Fetcher) client(o *object, signer aws.CredentialsProvider) (*s3.Client, error) {
	if o.region == "" && f.credentials(o) != nil {
		return nil, fmt.Errorf("the region of bucket %q at %s is unknown: set Fetcher.Region, or add the parameter region=REGION to the location", o.bucket, failure.Printable(o.url.Host, maxShown))
	}
	return s3.New(s3.Options{
		Region:       cmp.Or(o.region, "us-east-1"), // the SDK demands one for requests without a signature, too
		Credentials:  cmp.Or[aws.CredentialsProvider](signer, aws.AnonymousCredentials{}),
		UsePathStyle: !o.amazon,
		BaseEndpoint: &o.endpoint,
		HTTPClient:   f.guarded(o),

		RetryMaxAttempts: 1 + max(0, cmp.Or(f.settings().Retries, 2)),
	}), nil
}

// object returns a location for one object. The URL is signed if there are credentials.
func (f *Fetcher) object(ctx context.Context, o *object, key string) (*module.Location, error) {
	in := &s3.GetObjectInput{Bucket: &o.bucket, Key: &key}
	if o.version != "" {
		in.VersionId = &o.version
	}
	signer := f.credentials(o)
	client, err := f.client(o, cmp.Or[aws.CredentialsProvider](signer, nobody{}))
	if err != nil {
		return nil, err
	}
	request, err := s3.NewPresignClient(client).PresignGetObject(ctx, in)
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
func (f *Fetcher) directory(ctx context.Context, o *object, dir string, options module.Options) error {
	client, err := f.client(o, f.credentials(o))
	if err != nil {
		return err
	}
	prefix := o.key + "/"
	pages := list(ctx, client, &s3.ListObjectsV2Input{Bucket: &o.bucket, Prefix: &prefix})
	err = bucket.Download(ctx, dir, prefix, options.Limits.Effective(), options.Progress, pages, func(found bucket.Object) (io.ReadCloser, error) {
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
