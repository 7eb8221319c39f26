package mirrordir_test

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// TestBucket tests a mirror in an object store.
func TestBucket(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	temp := t.TempDir()
	b := &bucket{}
	m := &mirrordir.Mirror{Storage: b, TempDir: temp}
	if fetched := mustAdd(t, m, client, wants(three, v1, v2), mirrordir.Options{}); fetched != 6 {
		t.Errorf("%d fetched", fetched)
	}
	wantGood(t, m)
	reg.Reset()
	if mustAdd(t, m, client, wants(three, v1, v2), mirrordir.Options{}); reg.Count(0) != 0 {
		t.Errorf("again: %v", reg.Requests())
	}
	pkg, err := m.ProviderPackage(t.Context(), alpha, v1, linux)
	if err != nil || pkg.URL != archive(v1, linux) {
		t.Fatalf("%+v, %v", pkg, err)
	}
	if report, err := provider.Download(t.Context(), m, pkg, t.TempDir()+"/x", provider.Options{}); err != nil || report.Trust != verify.Signed {
		t.Errorf("%v, %v", report, err)
	}

	b.Content[archive(v1, linux)] = "PK"
	delete(b.Content, recordOf(v1, darwin))
	if fetched := mustAdd(t, m, client, wants(three, v1, v2), mirrordir.Options{}); fetched != 1 {
		t.Errorf("%d fetched after damage", fetched)
	}
	delete(b.Content, home+"/index.json")
	mustReindex(t, m)
	wantGood(t, m)
	// Without locks an empty index is kept.
	if err := m.Remove(t.Context(), alpha); err != nil || len(b.Content) != 1 || b.Content[home+"/index.json"] != "{}" {
		t.Errorf("%v, left %v", err, b.Content)
	}
	if left := files(t, temp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestBucketTogether checks that concurrent calls without locks lose nothing.
func TestBucketTogether(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	m := &mirrordir.Mirror{Storage: &bucket{}, TempDir: t.TempDir()}
	var wg sync.WaitGroup
	var fetched atomic.Int32
	for i := range 8 {
		wg.Go(func() {
			fetched.Add(int32(mustAdd(t, m, client(reg), wants(three[i%3:], v1, v2), mirrordir.Options{})))
		})
	}
	wg.Wait()
	if fetched.Load() < 6 {
		t.Errorf("%d fetched", fetched.Load())
	}
	wantGood(t, m)
}

// TestBelowFile checks that a file below a file is missing.
func TestBelowFile(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(t)
	write(t, dir, "a/file", "x")
	if _, err := m.Storage.Open(t.Context(), "a/file/below"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
}

// TestWriteFromTheStart: Write does not depend on what has been read of the content.
func TestWriteFromTheStart(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(t)
	content := io.NewSectionReader(strings.NewReader("content"), 0, 7)
	must.Get(content.Seek(3, io.SeekStart))(t)
	must.Do(t, m.Storage.Write(t.Context(), "a/b", content, ""))
	if got := read(t, dir, "a/b"); got != "content" {
		t.Errorf("Write wrote %q, want all of it", got)
	}
}
