package gcs

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2/google"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/storage/bucket"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/fetch"
)

// Store is a [storage.Store] in a bucket. A file is an object, which one request writes. Its revision is the
// generation of the object. Store is safe for concurrent use. It must not be copied after the first call.
type Store struct {
	// Bucket is the name of the bucket, which must exist.
	Bucket string

	// Prefix is the prefix of all names, such as "mirror/". It may be empty.
	Prefix string

	// Credentials have the tokens of requests, and the key for signed URLs. If nil, requests are anonymous.
	// Tokens are never sent over http.
	Credentials *google.Credentials

	// Endpoint is the URL of the server, such as that of Private Service Connect or of an emulator. If empty,
	// https://storage.googleapis.com is used.
	Endpoint string

	// Transport has the settings of requests. Its Credentials are not used. Its Timeout does not apply to changes,
	// which are repeated up to 5 times if its Retries is zero. If nil, the zero settings are used.
	Transport *transport.Settings

	// CacheControl, if not nil, returns the Cache-Control that a file is written with. If nil, it is "no-cache" for
	// documents, which are all files but archives: without one, Google serves public objects stale for an hour.
	CacheControl func(name string) string

	found atomic.Bool // whether the bucket has been seen
}

var (
	_ storage.Store  = (*Store)(nil)
	_ storage.Linker = (*Store)(nil)
)

// Open opens an object.
func (s *Store) Open(ctx context.Context, name string) (*storage.File, error) {
	a, key, err := s.at(ctx, name)
	if err != nil {
		return nil, err
	}
	body, err := a.open(ctx, key, "")
	if err != nil {
		return nil, s.failed(ctx, a, "open", name, err)
	}
	info := storage.Info{Size: body.Size, Revision: storage.Revision(body.Header.Get("X-Goog-Generation"))}
	var content io.ReadCloser = body
	if info.Size < 0 { // an answer of unknown length
		if info.Size, err = strconv.ParseInt(body.Header.Get("X-Goog-Stored-Content-Length"), 10, 64); err != nil {
			info.Size = -1
		}
		content = &exact{body, info.Size, info.Size}
	}
	if info.Size < 0 || info.Revision == "" {
		return nil, s.failed(ctx, a, "open", name, body.Unusable(errors.New("the size or the generation is missing")))
	}
	return &storage.File{ReadCloser: content, Info: info}, nil
}

// exact fails if a body of unknown length has another size than the object.
type exact struct {
	body       *fetch.Body
	size, left int64
}

func (e *exact) Close() error { return e.body.Close() }

func (e *exact) Read(p []byte) (int, error) {
	n, err := e.body.Read(p)
	e.left -= int64(n)
	switch {
	case e.left < 0:
		return 0, e.body.Unusable(fmt.Errorf("the body has more than the %d bytes of the object", e.size))
	case err == io.EOF && e.left > 0:
		return n, e.body.Unusable(fmt.Errorf("the body has %d of the %d bytes of the object: %w", e.size-e.left, e.size, io.ErrUnexpectedEOF))
	}
	return n, err
}

// Stat returns the size and the generation of an object.
func (s *Store) Stat(ctx context.Context, name string) (storage.Info, error) {
	a, key, err := s.at(ctx, name)
	if err != nil {
		return storage.Info{}, err
	}
	var object struct {
		Size       *int64 `json:",string"`
		Generation storage.Revision
	}
	err = a.get(ctx, key, url.Values{"fields": {"size,generation"}}, &object)
	if err == nil && (object.Generation == "" || object.Size == nil || *object.Size < 0) {
		err = errors.New("the size or the generation is missing")
	}
	if err != nil {
		return storage.Info{}, s.failed(ctx, a, "look at", name, err)
	}
	return storage.Info{Size: *object.Size, Revision: object.Generation}, nil
}

// Write writes an object with one request, which has the checksum of the content, never in parts.
func (s *Store) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	a, key, err := s.at(ctx, name)
	if err != nil {
		return err
	}
	whole := func() io.Reader { return until{ctx, io.NewSectionReader(content, 0, content.Size())} }
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if _, err := io.Copy(sum, whole()); err != nil {
		return fmt.Errorf("write %q in bucket %q: read the content: %w", name, s.Bucket, err)
	}
	about := map[string]string{
		"name": key, "contentType": bucket.ContentType(name), "crc32c": base64.StdEncoding.EncodeToString(sum.Sum(nil)),
	}
	if control := bucket.CacheControl(name, s.CacheControl); control != "" {
		about["cacheControl"] = control
	}
	metadata, err := json.Marshal(about)
	if err != nil {
		return err
	}
	boundary := rand.Text()
	head := "--" + boundary + "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n" + string(metadata) +
		"\r\n--" + boundary + "\r\nContent-Type: " + bucket.ContentType(name) + "\r\n\r\n"
	tail := "\r\n--" + boundary + "--\r\n"
	query := url.Values{"uploadType": {"multipart"}, "ifGenerationMatch": {generation(was)}, "fields": {"generation"}}
	resp, err := a.change(ctx, fetch.Request{
		URL: a.url("upload", "", query), Method: http.MethodPost, ContentType: "multipart/related; boundary=" + boundary,
		Body: func() io.Reader { return io.MultiReader(strings.NewReader(head), whole(), strings.NewReader(tail)) },
		Size: int64(len(head)+len(tail)) + content.Size(),
	})
	if err == nil && resp.Status != http.StatusOK {
		err = resp.Unusable(fmt.Errorf("a write has the status %d, want 200", resp.Status))
	}
	if err == nil {
		var wrote struct{ Generation storage.Revision }
		if err = resp.DecodeJSON(&wrote); err == nil && wrote.Generation == "" {
			err = resp.Unusable(errors.New("the generation is missing"))
		}
	}
	return s.failed(ctx, a, "write", name, err)
}

// generation returns the condition for a revision. No object has generation 1: generations are microseconds since 1970.
func generation(was storage.Revision) string {
	if was == "" {
		return "0" // no object
	}
	n, err := strconv.ParseInt(string(was), 10, 64)
	if err != nil || n <= 0 {
		n = 1
	}
	return strconv.FormatInt(n, 10)
}

// List returns the objects and directories in a directory. A directory in a bucket is a prefix of names up to a slash.
func (s *Store) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	name, prefix := "top", s.Prefix // any valid name
	if dir != "." {
		name, prefix = dir, s.Prefix+dir+"/"
	}
	a, _, err := s.at(ctx, name)
	if err != nil {
		return nil, err
	}
	entries, err := bucket.List(ctx, prefix, a.list(ctx, url.Values{"prefix": {prefix}, "delimiter": {"/"}}))
	if err != nil {
		return nil, s.failed(ctx, a, "list", dir, err)
	}
	return entries, nil
}

// Delete removes an object.
func (s *Store) Delete(ctx context.Context, name string) error {
	a, key, err := s.at(ctx, name)
	if err != nil {
		return err
	}
	resp, err := a.change(ctx, fetch.Request{URL: a.url("", key, nil), Method: http.MethodDelete})
	if err == nil && resp.Status != http.StatusNoContent {
		err = resp.Unusable(fmt.Errorf("a deletion has the status %d, want 204", resp.Status))
	}
	if err = s.failed(ctx, a, "delete", name, err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// at returns an api, and the name of the object for a file. It refuses invalid names, since the server accepts nearly any.
func (s *Store) at(ctx context.Context, name string) (*api, string, error) {
	const longest = 1024 // maximum number of bytes
	if !fs.ValidPath(name) || name == "." || len(s.Prefix)+len(name) > longest || strings.ContainsAny(name, "\r\n") {
		return nil, "", fmt.Errorf("invalid name %.200q for a bucket: %w", name, fs.ErrInvalid)
	}
	if ctx.Err() != nil {
		return nil, "", ended(ctx)
	}
	a, err := newAPI(s.Endpoint, s.Bucket, s.Credentials, s.Transport)
	return a, s.Prefix + name, err
}

// failed returns err with the kind that [storage.Store] demands. The server says of a missing bucket what it says
// of a missing object, so the first object that is missing costs a request for the bucket.
func (s *Store) failed(ctx context.Context, a *api, op, name string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*failure.RequestError](err); ok {
		switch {
		case e.Status == http.StatusPreconditionFailed:
			err = fmt.Errorf("%w: %w", storage.ErrConflict, err)
		case e.Status == http.StatusNotFound && op != "write" && op != "list":
			if !s.found.Load() {
				if _, err := a.list(ctx, url.Values{"maxResults": {"1"}})(""); err != nil {
					return fmt.Errorf("%s %q: look for bucket %q: %w", op, name, s.Bucket, err)
				}
				s.found.Store(true)
			}
			err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
		}
	}
	return fmt.Errorf("%s %q in bucket %q: %w", op, name, s.Bucket, err)
}

// URL returns a URL of an object that is signed with the key of a service account in Credentials. It is valid for
// GET and for lifetime, at most 7 days. Without such a key the error wraps [errors.ErrUnsupported].
func (s *Store) URL(ctx context.Context, name string, lifetime time.Duration) (string, error) {
	a, key, err := s.at(ctx, name)
	if err != nil {
		return "", err
	}
	account, signer, err := s.signer()
	if err == nil {
		err = bucket.HTTPS(s.Transport != nil && s.Transport.AllowHTTP)(a.base)
	}
	if longest := 7 * 24 * time.Hour; err == nil && (lifetime < time.Second || lifetime > longest) {
		err = errors.New("the lifetime must be from 1 second to 7 days")
	}
	if err != nil {
		return "", s.failed(ctx, a, "sign a URL of", name, err)
	}
	now := time.Now().UTC()
	date, scope := now.Format("20060102T150405Z"), now.Format("20060102")+"/auto/storage/goog4_request"
	query := url.Values{
		"X-Goog-Algorithm":     {"GOOG4-RSA-SHA256"},
		"X-Goog-Credential":    {account + "/" + scope},
		"X-Goog-Date":          {date},
		"X-Goog-Expires":       {strconv.FormatInt(int64(lifetime/time.Second), 10)},
		"X-Goog-SignedHeaders": {"host"},
	}.Encode()
	path := "/" + escaped(s.Bucket) + "/" + strings.ReplaceAll(escaped(key), "%2F", "/")
	sum := sha256.Sum256([]byte(strings.Join([]string{http.MethodGet, path, query, "host:" + a.base.Host, "", "host", "UNSIGNED-PAYLOAD"}, "\n")))
	sum = sha256.Sum256([]byte(strings.Join([]string{"GOOG4-RSA-SHA256", date, scope, hex.EncodeToString(sum[:])}, "\n")))
	signature, err := signer.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return "", s.failed(ctx, a, "sign a URL of", name, err)
	}
	return a.base.Scheme + "://" + a.base.Host + path + "?" + query + "&X-Goog-Signature=" + hex.EncodeToString(signature), nil
}

// escaped escapes all characters except the unreserved ones of RFC 3986.
func escaped(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// signer returns the service account of Credentials and its key. Errors have no part of the key.
func (s *Store) signer() (account string, key *rsa.PrivateKey, err error) {
	var file []byte
	if s.Credentials != nil {
		file = s.Credentials.JSON
	}
	config, err := google.JWTConfigFromJSON(file)
	if err != nil {
		return "", nil, fmt.Errorf("the field Credentials has no key of a service account: %w", errors.ErrUnsupported)
	}
	block, _ := pem.Decode(config.PrivateKey)
	if block == nil {
		return "", nil, errors.New("the key of the service account is not in PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		return "", nil, errors.New("the key of the service account is not an RSA key in PKCS #8")
	}
	return config.Email, key, nil
}

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
