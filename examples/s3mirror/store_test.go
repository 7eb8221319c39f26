package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir/dirtest"
)

// newBucket starts an S3 server on this machine and returns a function that makes a
// store for its bucket, each with a client of its own.
func newBucket(t *testing.T) (endpoint string, store func(prefix string) *Store) {
	t.Helper()
	backend := s3mem.New()
	must.Do(t, backend.CreateBucket("mirror"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	return server.URL, func(prefix string) *Store {
		client := newClient(server.URL, "us-east-1", testKey())
		return &Store{Client: client, Bucket: "mirror", Prefix: prefix}
	}
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
			must.Do(t, dirtest.TestStorage(t.Context(), store(prefix), store(prefix), store(prefix)))
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
	mirror := &mirrordir.Mirror{Storage: s}
	_, err := mirror.ProviderVersions(t.Context(), random)
	if err == nil || !strings.Contains(err.Error(), "NoSuchBucket") {
		t.Errorf("without a bucket: %v", err)
	}
	s.Bucket = "mirror"
	if _, err := s.Open(t.Context(), strings.Repeat("x", 1025)); err == nil {
		t.Error("a key of 1025 bytes is accepted")
	}
}
