package azblob

import (
	"cmp"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/storage/bucket"
)

// Store is a [storage.Store] in a container. A file is a block blob, which one request of up to 5,000 MiB writes, never
// blocks. Its revision is the entity tag. Store is safe for concurrent use. It must not be copied or changed after the
// first call.
//
// In accounts with a hierarchical namespace, directories are blobs too: use an account without one.
type Store struct {
	// Container is the URL of the container, which must exist, such as "https://account.blob.core.windows.net/mirror". It
	// may have a shared access signature, unless SharedKey is set.
	Container string

	// SharedKey or Credential, if not nil, authorizes the requests. Only SharedKey signs URLs. Tokens of Credential are
	// only for the Audience of Options, or without one for https://storage.azure.com, whatever the server demands.
	SharedKey  *container.SharedKeyCredential
	Credential azcore.TokenCredential

	// Prefix is the prefix of all names, such as "mirror/". It may be empty.
	Prefix string

	// Options are the settings of the SDK. Transport is nil or an [*http.Client], of which the Transport and the
	// Timeout are used: no redirect is followed.
	Options container.ClientOptions

	// AllowHTTP permits a Container at http, for emulators. Signatures are then sent over http too.
	AllowHTTP bool

	// CacheControl, if not nil, returns the Cache-Control that a file is written with. If nil, it is "no-cache" for
	// documents, which are all files but archives.
	CacheControl func(name string) string

	once   sync.Once
	client *container.Client
	err    error
}

var (
	_ storage.Store  = (*Store)(nil)
	_ storage.Linker = (*Store)(nil)
)

// URL returns a URL of a blob with a shared access signature. It is valid for GET and HEAD and for lifetime. Without
// SharedKey, the error wraps [errors.ErrUnsupported].
func (s *Store) URL(ctx context.Context, name string, lifetime time.Duration) (string, error) {
	b, err := s.blob(ctx, name)
	if err != nil {
		return "", err
	}
	link, err := b.GetSASURL(sas.BlobPermissions{Read: true}, time.Now().Add(lifetime), nil)
	if errors.Is(err, bloberror.MissingSharedKeyCredential) {
		err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return link, s.failed("sign a URL of", name, err)
}

// Open opens a blob. If the connection breaks, the rest is read with another request.
func (s *Store) Open(ctx context.Context, name string) (*storage.File, error) {
	b, err := s.blob(ctx, name)
	if err != nil {
		return nil, err
	}
	got, err := b.DownloadStream(ctx, nil)
	if err != nil {
		return nil, s.failed("open", name, err)
	}
	body := reader{got.NewRetryReader(ctx, nil), s, name}
	info, err := infoOf(got.ContentLength, got.ETag)
	if err != nil {
		body.Close()
		return nil, s.failed("open", name, err)
	}
	return &storage.File{ReadCloser: body, Info: info}, nil
}

// reader returns printable errors.
type reader struct {
	io.ReadCloser
	s    *Store
	name string
}

func (r reader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = r.s.failed("read", r.name, err)
	}
	return n, err
}

// Stat returns the size and the entity tag of a blob.
func (s *Store) Stat(ctx context.Context, name string) (storage.Info, error) {
	b, err := s.blob(ctx, name)
	if err != nil {
		return storage.Info{}, err
	}
	got, err := b.GetProperties(ctx, nil)
	if err != nil {
		return storage.Info{}, s.failed("look at", name, err)
	}
	info, err := infoOf(got.ContentLength, got.ETag)
	return info, s.failed("look at", name, err)
}

func infoOf(size *int64, tag *azcore.ETag) (storage.Info, error) {
	if size == nil || *size < 0 || tag == nil || *tag == "" {
		return storage.Info{}, errors.New("the size or the entity tag is missing")
	}
	return storage.Info{Size: *size, Revision: storage.Revision(*tag)}, nil
}

// Write writes a blob with one request, which has the MD5 of the content against broken transfers.
func (s *Store) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	b, err := s.blob(ctx, name)
	if err != nil {
		return err
	}
	whole := func() *io.SectionReader { return io.NewSectionReader(content, 0, content.Size()) }
	sum := md5.New()
	if _, err := io.Copy(sum, until{ctx, whole()}); err != nil {
		return fmt.Errorf("write %q in %s: read the content: %w", name, s.container(), err)
	}
	condition := &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}
	if was != "" {
		condition = &blob.ModifiedAccessConditions{IfMatch: to.Ptr(azcore.ETag(was))}
	}
	headers := &blob.HTTPHeaders{BlobContentType: to.Ptr(bucket.ContentType(name))}
	if control := bucket.CacheControl(name, s.CacheControl); control != "" {
		headers.BlobCacheControl = &control
	}
	wrote, err := b.Upload(ctx, streaming.NopCloser(whole()), &blockblob.UploadOptions{
		HTTPHeaders:             headers,
		AccessConditions:        &blob.AccessConditions{ModifiedAccessConditions: condition},
		TransactionalValidation: blob.TransferValidationTypeMD5(sum.Sum(nil)),
	})
	if err == nil && (wrote.ETag == nil || *wrote.ETag == "") {
		err = errors.New("the answer has no entity tag")
	}
	return s.failed("write", name, err)
}

// List returns the blobs and directories in a directory. A directory is a prefix of names up to a slash.
func (s *Store) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	name, prefix := "top", s.Prefix // any valid name
	if dir != "." {
		name, prefix = dir, s.Prefix+dir+"/"
	}
	if _, err := s.blob(ctx, name); err != nil {
		return nil, err
	}
	size := int32(bucket.PageSize)
	entries, err := bucket.List(ctx, prefix, func(token string) (*bucket.Page, error) {
		options := &container.ListBlobsHierarchyOptions{Prefix: &prefix, MaxResults: &size}
		if token != "" {
			options.Marker = &token
		}
		got, err := s.client.NewListBlobsHierarchyPager("/", options).NextPage(ctx)
		if err != nil {
			return nil, err
		}
		if got.Segment == nil || got.ContainerName == nil {
			return nil, errors.New("the answer has no list")
		}
		page := &bucket.Page{}
		if got.NextMarker != nil && *got.NextMarker != "" {
			page.More, page.Token = true, *got.NextMarker
		}
		for _, p := range got.Segment.BlobPrefixes {
			if p.Name == nil {
				return nil, errors.New("a prefix has no name")
			}
			page.Prefixes = append(page.Prefixes, *p.Name)
		}
		for _, b := range got.Segment.BlobItems {
			if b.Name == nil || b.Properties == nil || b.Properties.ContentLength == nil {
				return nil, errors.New("an entry has no name or size")
			}
			page.Objects = append(page.Objects, bucket.Object{Name: *b.Name, Size: *b.Properties.ContentLength})
		}
		return page, nil
	})
	if err != nil {
		return nil, s.failed("list", dir, err)
	}
	return entries, nil
}

// Delete removes a blob.
func (s *Store) Delete(ctx context.Context, name string) error {
	b, err := s.blob(ctx, name)
	if err != nil {
		return err
	}
	_, err = b.Delete(ctx, nil)
	if err = s.failed("delete", name, err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// blob returns a client of a file. It refuses names that the server changes or does not accept.
func (s *Store) blob(ctx context.Context, name string) (*blockblob.Client, error) {
	const longest, longestElement = 1024, 254 // maximum numbers of characters
	key := s.Prefix + name
	elements := strings.Split(key, "/")
	if !fs.ValidPath(name) || name == "." || len(key) > longest || len(elements) > 254 || strings.Contains(key, `\`) ||
		slices.ContainsFunc(elements, func(e string) bool { return strings.HasSuffix(e, ".") || len(e) > longestElement }) {
		return nil, fmt.Errorf("invalid name %.200q for a blob: %w", name, fs.ErrInvalid)
	}
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	s.once.Do(func() { s.client, s.err = s.connect() })
	if s.err != nil {
		return nil, fmt.Errorf("%s: %w", s.container(), s.err)
	}
	return s.client.NewBlockBlobClient(key), nil
}

// connect returns a client whose requests are guarded.
func (s *Store) connect() (*container.Client, error) {
	u, err := url.Parse(s.Container)
	if err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") == "" {
		return nil, errors.New("the field Container must be a URL such as https://ACCOUNT.blob.core.windows.net/CONTAINER")
	}
	guard := &bucket.Guard{
		Check:    bucket.HTTPS(s.AllowHTTP),
		IsObject: func(r *http.Request) bool { return r.URL.Query().Get("comp") == "" },
	}
	if err := guard.Check(u); err != nil {
		return nil, err
	}
	options := s.Options
	switch c := options.Transport.(type) {
	case nil:
		options.Transport = guard.Client(nil)
	case *http.Client:
		options.Transport = guard.Client(c)
	default:
		return nil, fmt.Errorf("the Transport of Options is a %T, want an *http.Client", c)
	}
	switch {
	case s.SharedKey != nil && s.Credential != nil:
		return nil, errors.New("SharedKey and Credential are both set")
	case s.SharedKey != nil && u.RawQuery != "": // signed URLs of blobs would have it
		return nil, errors.New("SharedKey is set, and Container has a shared access signature")
	case s.SharedKey != nil:
		return container.NewClientWithSharedKeyCredential(s.Container, s.SharedKey, &options)
	case s.Credential != nil:
		return container.NewClient(s.Container, storageOnly{s.Credential, options.Audience}, &options)
	}
	return container.NewClientWithNoCredential(s.Container, &options)
}

// storageOnly has tokens for one audience. The SDK asks for tokens for what a server names in the answer 401, such as the
// whole account of the user, and sends them to it.
type storageOnly struct {
	azcore.TokenCredential
	audience string
}

// GetToken implements [azcore.TokenCredential].
func (c storageOnly) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	want := strings.TrimRight(cmp.Or(strings.TrimSpace(c.audience), "https://storage.azure.com"), "/") + "/.default"
	if len(o.Scopes) != 1 || o.Scopes[0] != want {
		return azcore.AccessToken{}, fmt.Errorf("the server demands a token for %.200q, want %q; set Audience of Options if it is right", o.Scopes, want)
	}
	return c.TokenCredential.GetToken(ctx, o)
}

// container names the container in errors.
func (s *Store) container() string {
	u, _, _ := strings.Cut(s.Container, "?") // which may have a signature
	return fmt.Sprintf("container %q", failure.Printable(failure.RedactText(u), maxShown))
}

// failed returns err with the kind that [storage.Store] demands, and a text that is safe to print.
func (s *Store) failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	text, kinds := err.Error(), []error{err}
	if e, ok := errors.AsType[*azcore.ResponseError](err); ok {
		// The whole answer is long, and may have what was signed.
		text = fmt.Sprintf("status %d %s", e.StatusCode, e.ErrorCode)
		switch {
		case e.StatusCode == http.StatusUnauthorized, e.StatusCode == http.StatusForbidden:
			kinds = append(kinds, failure.ErrUnauthorized)
		case e.StatusCode == http.StatusPreconditionFailed, e.ErrorCode == string(bloberror.BlobAlreadyExists), e.ErrorCode == string(bloberror.BlobNotFound) && op == "write":
			kinds = append(kinds, storage.ErrConflict)
		case e.ErrorCode == string(bloberror.BlobNotFound):
			kinds = append(kinds, fs.ErrNotExist)
		}
	}
	return fmt.Errorf("%s %q in %s: %w", op, name, s.container(), &printable{failure.Printable(strings.Join(strings.Fields(failure.RedactText(text)), " "), maxShown), kinds})
}

// printable is an error of the SDK with another text.
type printable struct {
	text  string
	kinds []error
}

// Error returns the text.
func (e *printable) Error() string { return e.text }

// Unwrap returns the kinds.
func (e *printable) Unwrap() []error { return e.kinds }

const maxShown = 512 // bytes of a text of the server in an error

// ended returns the error of a context that has ended, with its cause.
func ended(ctx context.Context) error {
	if err, cause := ctx.Err(), context.Cause(ctx); !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return context.Cause(ctx)
}

// until is a reader that fails when its context ends.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, ended(u.ctx)
	}
	return u.r.Read(p)
}
