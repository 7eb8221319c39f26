package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/storage/storagetest"
)

// newBucket starts an S3 server on this machine and returns a function that makes a
// store for its bucket, each with a client of its own.
func newBucket(t *testing.T) (endpoint string, store func(prefix string) *Store) {
	t.Helper()
	backend := s3mem.New()
	must.Do(t, backend.CreateBucket("mirror"))
	server := httptest.NewServer(&conditional{Handler: gofakes3.New(backend).Server()})
	t.Cleanup(server.Close)
	return server.URL, func(prefix string) *Store {
		client := newClient(server.URL, "us-east-1", testKey())
		return &Store{Client: client, Bucket: "mirror", Prefix: prefix}
	}
}

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

func testKey() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("id", "secret", "")
}

// TestStore: the store does what package mirrordir relies on, also for several processes.
func TestStore(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "team/mirror/"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			t.Parallel()
			_, store := newBucket(t)
			must.Do(t, storagetest.TestStore(t.Context(), store(prefix), store(prefix), store(prefix)))
			left, err := store("").List(t.Context(), ".")
			if err != nil || len(left) != 0 {
				t.Errorf("the test has left %v, %v", left, err)
			}
		})
	}
}

// TestErrors: what goes wrong is said with the name, and is not taken for a missing file.
func TestErrors(t *testing.T) {
	t.Parallel()
	_, store := newBucket(t)
	s := store("")
	s.Bucket = "another"
	mirror := &mirrordir.Mirror{Store: s}
	_, err := mirror.ProviderVersions(t.Context(), random)
	if err == nil || !strings.Contains(err.Error(), "NoSuchBucket") {
		t.Errorf("without a bucket: %v", err)
	}
	s.Bucket = "mirror"
	if _, err := s.Open(t.Context(), strings.Repeat("x", 1025)); err == nil {
		t.Error("a key of 1025 bytes is accepted")
	}
}
