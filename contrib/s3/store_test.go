package s3_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tofureg/tofureg/contrib/s3"
	"github.com/tofureg/tofureg/contrib/s3/internal/must"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/storage/bucket"
	"github.com/tofureg/tofureg/testkit/storagetest"
)

// A server is an S3 server with the bucket "mirror".
type server struct {
	url    string
	client *http.Client
	signer aws.CredentialsProvider
}

// store returns a store for the bucket with a client of its own.
func (s server) store(prefix string) *s3.Store {
	return &s3.Store{AllowHTTP: true, Bucket: "mirror", Prefix: prefix, Client: awss3.New(awss3.Options{
		Region: "us-east-1", BaseEndpoint: &s.url, UsePathStyle: true, HTTPClient: s.client, Credentials: s.signer,
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	})}
}

// fake starts a server in this process.
func fake(t *testing.T) server {
	t.Helper()
	backend := s3mem.New()
	must.Do(t, backend.CreateBucket("mirror"))
	s := httptest.NewServer(&conditional{Handler: gofakes3.New(backend).Server()})
	t.Cleanup(s.Close)
	return server{s.URL, s.Client(), credentials.NewStaticCredentialsProvider("id", "secret", "")}
}

// realServer starts versitygw.
func realServer(t *testing.T) server {
	t.Helper()
	s := server{gatewayURL, gateway(t, "owner", "s3cr3t-s3cr3t"), credentials.NewStaticCredentialsProvider("owner", "s3cr3t-s3cr3t", "")}
	must.Get(s.store("").Client.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: aws.String("mirror")}))(t)
	return s
}

var servers = map[string]func(*testing.T) server{"gofakes3": fake, "versitygw": realServer}

// conditional makes a server obey If-Match of DELETE, which gofakes3 ignores.
type conditional struct {
	http.Handler
	changes sync.Mutex
}

func (c *conditional) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut || r.Method == http.MethodDelete {
		c.changes.Lock()
		defer c.changes.Unlock()
	}
	if was := r.Header.Get("If-Match"); r.Method == http.MethodDelete && was != "" {
		head := httptest.NewRecorder()
		c.Handler.ServeHTTP(head, httptest.NewRequestWithContext(r.Context(), http.MethodHead, r.URL.Path, nil))
		if head.Code == http.StatusOK && head.Header().Get("ETag") != was {
			w.WriteHeader(http.StatusPreconditionFailed)
			return
		}
	}
	c.Handler.ServeHTTP(w, r)
}

// TestStore: the store does what package storage demands, also for several processes. versitygw 1.8.0 looks at
// conditions and changes files in two steps: one of many pairs of a write and a deletion at the same time both succeed.
func TestStore(t *testing.T) {
	t.Parallel()
	for name, start := range servers {
		for _, prefix := range []string{"", "team/mirror/"} {
			t.Run(name+"/"+cmp.Or(prefix, "top"), func(t *testing.T) {
				t.Parallel()
				s := start(t)
				err := storagetest.TestStore(t.Context(), s.store(prefix), s.store(prefix), s.store(prefix))
				for line := range strings.Lines(fmt.Sprint(err)) {
					if err != nil && !(name == "versitygw" && strings.HasPrefix(line, "delete or write: ")) {
						t.Error(line)
					}
				}
				left, err := s.store("").List(t.Context(), ".")
				if err != nil || len(left) != 0 {
					t.Errorf("the test has left %v, %v", left, err)
				}
			})
		}
	}
}

// TestRaceWrites: of concurrent writes on the same condition one succeeds, in thousands of rounds.
func TestRaceWrites(t *testing.T) {
	t.Parallel()
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			if err := storagetest.RaceWrites(t.Context(), 2000, s.store(""), s.store(""), s.store("")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStoreURL: a client without credentials gets an object by its signed URL, and by no other.
func TestStoreURL(t *testing.T) {
	t.Parallel()
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			store := s.store("p/")
			must.Do(t, store.Write(t.Context(), "a b/ö.zip", io.NewSectionReader(strings.NewReader("content"), 0, 7), ""))
			link := must.Get(store.URL(t.Context(), "a b/ö.zip", time.Minute))(t)
			get := func(url string) (int, string) {
				resp := must.Get(s.client.Get(url))(t)
				defer resp.Body.Close()
				return resp.StatusCode, string(must.Get(io.ReadAll(resp.Body))(t))
			}
			if status, text := get(link); status != http.StatusOK || text != "content" {
				t.Errorf("GET %s: %d %q, want the content", link, status, text)
			}
			if plain, _, _ := strings.Cut(link, "?"); name != "gofakes3" { // which does not look at signatures
				if status, _ := get(plain); status != http.StatusForbidden {
					t.Errorf("GET %s: %d, want 403", plain, status)
				}
			}
			if _, err := store.URL(t.Context(), "../x", time.Minute); err == nil {
				t.Error("URL of ../x: no error")
			}
		})
	}
}

// TestStoreErrors: what goes wrong is said with the name, and is not taken for a missing file.
func TestStoreErrors(t *testing.T) {
	t.Parallel()
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := start(t).store("")
			if _, err := store.Open(t.Context(), strings.Repeat("x", 1025)); err == nil {
				t.Error("a key of 1025 bytes is accepted")
			}
			store.Bucket = "another"
			_, err := store.Open(t.Context(), "x")
			if err == nil || !strings.Contains(err.Error(), "NoSuchBucket") || errors.Is(err, storage.ErrConflict) {
				t.Errorf("without a bucket: %v, want an error with NoSuchBucket", err)
			}
		})
	}
}

// TestStoreDenied: an error without access names the permission that turns it into a missing file.
func TestStoreDenied(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
	}))
	defer s.Close()
	store := server{s.URL, s.Client(), credentials.NewStaticCredentialsProvider("id", "secret", "")}.store("")
	_, opened := store.Open(t.Context(), "x")
	_, looked := store.Stat(t.Context(), "x")
	for _, err := range []error{opened, looked} {
		if !errors.Is(err, failure.ErrUnauthorized) || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "s3:ListBucket") {
			t.Errorf("without access: %v, want %v with the permission", err, failure.ErrUnauthorized)
		}
	}
}

// TestStoreIsDirectory: versitygw says that an object is a directory also when another request removes the directory
// at the same time. Write tries again, and what stays is no conflict, which callers would repeat many times.
func TestStoreIsDirectory(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ answers, want int32 }{{1, 2}, {100, 3}} {
		backend := s3mem.New()
		must.Do(t, backend.CreateBucket("mirror"))
		real := gofakes3.New(backend).Server()
		var puts atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && puts.Add(1) <= test.answers {
				w.WriteHeader(http.StatusConflict)
				io.WriteString(w, "<Error><Code>ExistingObjectIsDirectory</Code></Error>")
				return
			}
			real.ServeHTTP(w, r)
		}))
		defer s.Close()
		store := server{s.URL, s.Client(), credentials.NewStaticCredentialsProvider("id", "secret", "")}.store("")
		err := store.Write(t.Context(), "a/b", io.NewSectionReader(strings.NewReader("content"), 0, 7), "")
		if (err == nil) != (test.answers == 1) || errors.Is(err, storage.ErrConflict) || puts.Load() != test.want {
			t.Errorf("Write with %d such answers: %v after %d requests, want %d requests and no conflict", test.answers, err, puts.Load(), test.want)
		}
	}
}

// TestHostile: a server that lies gets the signatures of the store, and nothing else from it.
func TestHostile(t *testing.T) {
	t.Parallel()
	page := func(objects []bucket.Object, token string) string {
		text := fmt.Sprintf("<ListBucketResult><Name>mirror</Name><IsTruncated>%t</IsTruncated><NextContinuationToken>%s</NextContinuationToken>", token != "", token)
		for _, o := range objects {
			text += fmt.Sprintf("<Contents><Key>%s</Key><Size>%d</Size></Contents>", o.Name, o.Size)
		}
		return text + "</ListBucketResult>"
	}
	open := func(url string, client awss3.HTTPClient) *s3.Store {
		return &s3.Store{Bucket: "mirror", Prefix: "m/", Client: awss3.New(awss3.Options{
			Region: "eu-west-1", BaseEndpoint: &url, UsePathStyle: true, HTTPClient: client, RetryMaxAttempts: 1,
			Credentials: credentials.NewStaticCredentialsProvider("id", storagetest.Secret, storagetest.Secret),
		})}
	}
	for name, wrap := range map[string]func(*http.Client) awss3.HTTPClient{
		"http.Client": func(c *http.Client) awss3.HTTPClient { return c },
		"BuildableClient": func(c *http.Client) awss3.HTTPClient {
			return awshttp.NewBuildableClient().WithTransportOptions(func(to *http.Transport) {
				if from, ok := c.Transport.(*http.Transport); ok {
					to.TLSClientConfig = from.TLSClientConfig
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			must.Do(t, storagetest.TestServer(t.Context(), func(url string, client *http.Client) storage.Store { return open(url, wrap(client)) }, page))
		})
	}
	if _, err := open("https://x.example.com", doer{}).Stat(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "*http.Client") {
		t.Errorf("Stat with another HTTPClient: %v, want an error that names *http.Client", err)
	}
	truncated := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")
	}))
	t.Cleanup(truncated.Close)
	if list, err := open(truncated.URL, truncated.Client()).List(t.Context(), "."); err == nil || !strings.Contains(err.Error(), "no token") {
		t.Errorf("List of a truncated list without a token: %v, %v, want an error", list, err)
	}
}

type doer struct{}

func (doer) Do(*http.Request) (*http.Response, error) { return nil, errors.New("called") }

// TestCacheControl: a file is written with the Cache-Control that the store or its caller chooses.
func TestCacheControl(t *testing.T) {
	t.Parallel()
	store := realServer(t).store("")
	other := &s3.Store{Client: store.Client, Bucket: store.Bucket, CacheControl: func(string) string { return "max-age=60" }}
	for file, want := range map[string]string{"a.json": "no-cache", "a": "no-cache", "a.zip": ""} {
		for s, want := range map[*s3.Store]string{store: want, other: "max-age=60"} {
			must.Do(t, s.Delete(t.Context(), file))
			must.Do(t, s.Write(t.Context(), file, io.NewSectionReader(strings.NewReader("x"), 0, 1), ""))
			out := must.Get(store.Client.HeadObject(t.Context(), &awss3.HeadObjectInput{Bucket: &store.Bucket, Key: &file}))(t)
			if got := aws.ToString(out.CacheControl); got != want {
				t.Errorf("%q has the Cache-Control %q, want %q", file, got, want)
			}
		}
	}
}
