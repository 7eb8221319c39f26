package mirrordir_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// bucket is a storage without locks and without files, as an object store is.
type bucket struct {
	mu    sync.Mutex
	files map[string]string
}

func (b *bucket) Open(ctx context.Context, name string) (*mirrordir.Object, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return &mirrordir.Object{ReadCloser: io.NopCloser(io.MultiReader(strings.NewReader(data))), Size: int64(len(data)), Revision: mirrordir.Revision("v" + data)}, ctx.Err()
}

func (b *bucket) Write(ctx context.Context, name string, content *io.SectionReader, was mirrordir.Revision) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	old, ok := b.files[name]
	if ok != (was != "") || ok && mirrordir.Revision("v"+old) != was {
		return fmt.Errorf("put %s: %w", name, mirrordir.ErrConflict)
	}
	if b.files == nil {
		b.files = map[string]string{}
	}
	b.files[name] = string(data)
	return ctx.Err()
}

func (b *bucket) List(ctx context.Context, dir string) ([]mirrordir.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[string]mirrordir.Entry{}
	for name, data := range b.files {
		rest, ok := strings.CutPrefix(name, dir+"/")
		if dir == "." {
			rest, ok = name, true
		}
		if !ok {
			continue
		}
		first, _, below := strings.Cut(rest, "/")
		if below {
			seen[first] = mirrordir.Entry{Name: first, Dir: true}
		} else {
			seen[first] = mirrordir.Entry{Name: first, Size: int64(len(data))}
		}
	}
	var list []mirrordir.Entry
	for _, e := range seen {
		list = append(list, e)
	}
	return list, ctx.Err()
}

func (b *bucket) Delete(ctx context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.files, name)
	return ctx.Err()
}

// TestBucket does with an object store all that the other tests do with a directory.
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

	b.files[archive(v1, linux)] = "PK"
	delete(b.files, recordOf(v1, darwin))
	if fetched := mustAdd(t, m, client, wants(three, v1, v2), mirrordir.Options{}); fetched != 1 {
		t.Errorf("%d fetched after damage", fetched)
	}
	delete(b.files, home+"/index.json")
	mustReindex(t, m)
	wantGood(t, m)
	// Who cannot delete on a condition keeps an index without versions.
	if err := m.Remove(t.Context(), alpha); err != nil || len(b.files) != 1 || b.files[home+"/index.json"] != "{}" {
		t.Errorf("%v, left %v", err, b.files)
	}
	if left := files(t, temp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestBucketTogether: without locks archives may be fetched twice, but nothing is lost.
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

// TestBelowFile: what lies below a file is not there.
func TestBelowFile(t *testing.T) {
	t.Parallel()
	d := &mirrordir.Directory{Path: t.TempDir()}
	write(t, d.Path, "a/file", "x")
	if _, err := d.Open(t.Context(), "a/file/below"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
}
