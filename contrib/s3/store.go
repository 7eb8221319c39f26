package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/storage/bucket"
)

// Store is a [storage.Store] in a bucket. The server must support conditions: PUT with If-Match and
// If-None-Match. One that ignores these headers loses updates: test the server with
// package [github.com/tofureg/tofureg/testkit/storagetest]. Store is safe for concurrent use. It must not be
// copied or changed after the first call.
//
// The credentials need s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket. Without the last, S3 refuses access to
// missing objects.
//
// A file is one PUT, of up to 5 GB in S3, never an upload in parts. Its revision is the entity tag.
type Store struct {
	// Client sends the requests, with its own credentials and retries. Its HTTPClient must be an [*http.Client] or a
	// BuildableClient of the SDK: no redirect is followed. For stores other than AWS, set
	// UsePathStyle, and RequestChecksumCalculation to "when required", if they do not support the new checksums.
	Client *s3.Client

	// Bucket is the name of the bucket, which must exist.
	Bucket string

	// Prefix is the prefix of all keys, such as "mirror/". It may be empty.
	Prefix string

	// AllowHTTP permits a Client with an endpoint at http, for emulators. Signatures are then sent over http too.
	AllowHTTP bool

	// CacheControl, if not nil, returns the Cache-Control that a file is written with. If nil, it is "no-cache" for
	// documents, which are all files but archives.
	CacheControl func(name string) string

	once   sync.Once
	client *s3.Client
	err    error
}

var (
	_ storage.Store  = (*Store)(nil)
	_ storage.Linker = (*Store)(nil)
)

// URL returns a URL of an object that is signed with the credentials of Client. It is valid for GET and for
// lifetime, from 1 second to 7 days.
func (s *Store) URL(ctx context.Context, name string, lifetime time.Duration) (string, error) {
	key, err := s.key(name)
	if err != nil {
		return "", err
	}
	client, err := s.guarded()
	if err != nil {
		return "", s.failed("sign a URL of", name, err)
	}
	if longest := 7 * 24 * time.Hour; lifetime < time.Second || lifetime > longest { // the SDK makes 15 minutes of 0
		return "", s.failed("sign a URL of", name, errors.New("the lifetime must be from 1 second to 7 days"))
	}
	request, err := s3.NewPresignClient(client, s3.WithPresignExpires(lifetime)).
		PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &s.Bucket, Key: key})
	if err != nil {
		return "", s.failed("sign a URL of", name, err)
	}
	u, err := url.Parse(request.URL)
	if err == nil {
		err = bucket.HTTPS(s.AllowHTTP)(u)
	}
	if err != nil {
		return "", s.failed("sign a URL of", name, err)
	}
	return request.URL, nil
}

// guarded returns a client for the same requests as Client, which follows no redirect.
func (s *Store) guarded() (*s3.Client, error) {
	s.once.Do(func() {
		options := s.Client.Options()
		found := options.HTTPClient
		if c, ok := found.(*awshttp.BuildableClient); ok {
			found = c.Freeze()
		}
		c, ok := found.(*http.Client)
		if !ok {
			s.err = fmt.Errorf("the HTTPClient of Client is a %T, want an *http.Client", found)
			return
		}
		guard := &bucket.Guard{Check: bucket.HTTPS(s.AllowHTTP), IsObject: isObject}
		options.HTTPClient = guard.Client(c)
		s.client = s3.New(options)
	})
	return s.client, s.err
}

// isObject reports whether a GET is not for a list.
func isObject(r *http.Request) bool { return !r.URL.Query().Has("list-type") }

// Open opens an object. Its revision is the entity tag.
func (s *Store) Open(ctx context.Context, name string) (*storage.File, error) {
	key, err := s.key(name)
	if err != nil {
		return nil, err
	}
	client, err := s.guarded()
	if err != nil {
		return nil, s.failed("open", name, err)
	}
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.Bucket, Key: key})
	if err != nil {
		return nil, s.failed("open", name, err)
	}
	if out.ContentLength == nil || *out.ContentLength < 0 || aws.ToString(out.ETag) == "" {
		out.Body.Close()
		return nil, fmt.Errorf("open %q in bucket %q: the size or the entity tag is missing", name, s.Bucket)
	}
	return &storage.File{ReadCloser: out.Body, Info: storage.Info{Size: *out.ContentLength, Revision: storage.Revision(*out.ETag)}}, nil
}

// Stat returns the size and the entity tag of an object.
func (s *Store) Stat(ctx context.Context, name string) (storage.Info, error) {
	key, err := s.key(name)
	if err != nil {
		return storage.Info{}, err
	}
	client, err := s.guarded()
	if err != nil {
		return storage.Info{}, s.failed("look at", name, err)
	}
	out, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.Bucket, Key: key})
	if err != nil {
		return storage.Info{}, s.failed("look at", name, err)
	}
	if out.ContentLength == nil || *out.ContentLength < 0 || aws.ToString(out.ETag) == "" {
		return storage.Info{}, fmt.Errorf("look at %q in bucket %q: the size or the entity tag is missing", name, s.Bucket)
	}
	return storage.Info{Size: *out.ContentLength, Revision: storage.Revision(*out.ETag)}, nil
}

// Write puts an object with one conditional request, never in parts. S3 accepts up to 5 GB.
func (s *Store) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	key, err := s.key(name)
	if err != nil {
		return err
	}
	in := &s3.PutObjectInput{
		Bucket: &s.Bucket, Key: key,
		Body:          body{ctx, content},
		ContentLength: aws.Int64(content.Size()),
		ContentType:   aws.String(bucket.ContentType(name)),
	}
	if control := bucket.CacheControl(name, s.CacheControl); control != "" {
		in.CacheControl = &control
	}
	if was == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = aws.String(string(was))
	}
	// Over https the SDK signs no hash of the content, and a server could keep the start of it if the
	// connection breaks.
	client, err := s.guarded()
	if err != nil {
		return s.failed("write", name, err)
	}
	out, err := client.PutObject(ctx, in, s3.WithAPIOptions(func(stack *middleware.Stack) error {
		hash := &v4.ComputePayloadSHA256{}
		_, err := stack.Finalize.Swap(hash.ID(), hash)
		return err
	}), func(o *s3.Options) {
		// A server that keeps objects as files says this also if a Delete removes the directory at the same time.
		o.Retryer = retry.AddWithErrorCodes(o.Retryer, isDirectory)
	})
	if err == nil {
		err = wantStatus(out.ResultMetadata, http.StatusOK)
	}
	if err == nil && aws.ToString(out.ETag) == "" {
		err = errors.New("the answer has no entity tag")
	}
	return s.failed("write", name, err)
}

// body fails when its context ends, also while it is hashed before the request. The SDK seeks in it, so that
// a reader without Seek does not do.
type body struct {
	ctx context.Context
	*io.SectionReader
}

func (b body) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	return b.SectionReader.Read(p)
}

// List returns the objects and directories in a directory. A directory in a bucket is a prefix of keys
// up to a slash.
func (s *Store) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	prefix := s.Prefix
	if dir != "." {
		key, err := s.key(dir)
		if err != nil {
			return nil, err
		}
		prefix = *key + "/"
	}
	client, err := s.guarded()
	if err != nil {
		return nil, s.failed("list", dir, err)
	}
	entries, err := bucket.List(ctx, prefix, list(ctx, client, &s3.ListObjectsV2Input{Bucket: &s.Bucket, Prefix: &prefix, Delimiter: aws.String("/")}))
	if err != nil {
		return nil, s.failed("list", dir, err)
	}
	return entries, nil
}

// list returns a function for the pages of a list.
func list(ctx context.Context, client *s3.Client, in *s3.ListObjectsV2Input) func(token string) (*bucket.Page, error) {
	in.MaxKeys = aws.Int32(bucket.PageSize)
	return func(token string) (*bucket.Page, error) {
		if token != "" {
			in.ContinuationToken = &token
		}
		out, err := client.ListObjectsV2(ctx, in)
		if err != nil {
			return nil, printable(err)
		}
		if out.IsTruncated == nil { // the SDK reads any document, and an empty one, as a list
			return nil, errors.New("the answer is not a list of objects")
		}
		page := &bucket.Page{More: *out.IsTruncated, Token: aws.ToString(out.NextContinuationToken)}
		for _, p := range out.CommonPrefixes {
			page.Prefixes = append(page.Prefixes, aws.ToString(p.Prefix))
		}
		for _, o := range out.Contents {
			if o.Key == nil || o.Size == nil {
				return nil, errors.New("an entry has no name or size")
			}
			page.Objects = append(page.Objects, bucket.Object{Name: *o.Key, Size: *o.Size})
		}
		return page, nil
	}
}

// Delete removes an object. It ignores a missing object, like S3.
func (s *Store) Delete(ctx context.Context, name string) error {
	key, err := s.key(name)
	if err != nil {
		return err
	}
	client, err := s.guarded()
	if err != nil {
		return s.failed("delete", name, err)
	}
	out, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.Bucket, Key: key})
	if err == nil {
		err = wantStatus(out.ResultMetadata, http.StatusNoContent)
	}
	if err = s.failed("delete", name, err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// wantStatus returns an error if an answer has another status: the SDK accepts all of 2xx.
func wantStatus(of middleware.Metadata, want int) error {
	if raw, ok := awsmiddleware.GetRawResponse(of).(*smithyhttp.Response); !ok || raw.StatusCode != want {
		return fmt.Errorf("the answer has another status than %d", want)
	}
	return nil
}

// key returns the key of a file. It refuses invalid names, since S3 accepts nearly any key.
func (s *Store) key(name string) (*string, error) {
	const longest = 1024 // maximum number of bytes in S3
	if !fs.ValidPath(name) || name == "." || len(s.Prefix)+len(name) > longest {
		return nil, fmt.Errorf("invalid name %q for a bucket: %w", name, fs.ErrInvalid)
	}
	return aws.String(s.Prefix + name), nil
}

// isDirectory is the code of an answer of servers that keep objects as files, and of no other.
const isDirectory = "ExistingObjectIsDirectory"

// failed returns err with the kind that [storage.Store] demands, and a text that is safe to print.
func (s *Store) failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	var missing *types.NoSuchKey
	var api smithy.APIError
	var response interface{ HTTPStatusCode() int }
	status := 0
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	switch {
	case errors.As(err, &api) && api.ErrorCode() == isDirectory:
	case status == http.StatusPreconditionFailed, status == http.StatusConflict && op == "write":
		err = fmt.Errorf("%w: %w", storage.ErrConflict, err)
	case status == http.StatusNotFound && (op == "look at" || errors.As(err, &missing) || errors.As(err, &api) && api.ErrorCode() == "NoSuchKey"):
		// A write with If-Match fails in this way if the object was deleted.
		kind := fs.ErrNotExist
		if op == "write" {
			kind = storage.ErrConflict
		}
		err = fmt.Errorf("%w: %w", kind, err)
	case status == http.StatusForbidden && (op == "open" || op == "look at"):
		err = fmt.Errorf("missing, without the permission s3:ListBucket, or denied: %w", err)
	}
	return fmt.Errorf("%s %q in bucket %q: %w", op, name, s.Bucket, printable(err))
}
