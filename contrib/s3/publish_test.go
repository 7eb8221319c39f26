package s3_test

import (
	"testing"

	"github.com/tofureg/tofureg/contrib/s3/internal/must"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/storagetest"
)

// TestPublish: 20 processes publish to a registry in the bucket.
func TestPublish(t *testing.T) {
	t.Parallel()
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			must.Do(t, storagetest.TestPublish(t.Context(), func() storage.Store { return s.store("registry/") }))
		})
	}
}

// TestMirror: a mirror in the bucket is filled, read, also by signed URLs, checked and shrunk.
func TestMirror(t *testing.T) {
	t.Parallel()
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			must.Do(t, storagetest.TestMirror(t.Context(), func() storage.Store { return s.store("") }, s.client))
		})
	}
}
