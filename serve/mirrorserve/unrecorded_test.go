package mirrorserve_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// TestArchiveWithoutRecord: an archive that another program has put into a mirror is served from the mirror without
// hashes. A Cache asks its source, adds the record if that has the same archive, and replaces another archive.
func TestArchiveWithoutRecord(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	filledBucket := &bucket{}
	locks := &storage.Dir{Path: t.TempDir()} // for usual names
	mustAdd(t, &mirrordir.Mirror{Store: mirrortest.LockedStore{Store: filledBucket, Dir: locks}, TempDir: t.TempDir()}, src, wants(three, v1), mirrordir.AddOptions{})
	good := filledBucket.Content[archive(v1, linux)]
	get := func(h http.Handler, name string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/"+name, nil))
		return w.Code, w.Body.String()
	}
	for name, content := range map[string]string{"the same": good, "another": "another archive"} {
		b := &bucket{Content: map[string]string{}}
		b.Put(archive(v1, linux), content)
		m := &mirrordir.Mirror{Store: mirrortest.LockedStore{Store: b, Dir: locks}, TempDir: t.TempDir()}
		plain := &mirrorserve.Handler{Source: m}
		if status, doc := get(plain, home+"/1.0.0.json"); status != http.StatusOK || strings.Contains(doc, "hashes") {
			t.Errorf("%s: the document of the mirror: status %d, %s; want the archive without hashes", name, status, doc)
		}
		if status, got := get(plain, archive(v1, linux)); status != http.StatusOK || got != content {
			t.Errorf("%s: the archive of the mirror: status %d, %d bytes; want %d", name, status, len(got), len(content))
		}
		reg.Reset()
		cache := &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: m, Wait: -1}}
		for range 2 {
			if status, got := get(cache, archive(v1, linux)); status != http.StatusOK || got != good {
				t.Errorf("%s: the archive of the Cache: status %d, %d bytes; want that of the source", name, status, len(got))
			}
		}
		if n := reg.Count(regtest.Archive); n != 1 {
			t.Errorf("%s: the source was asked for the archive %d times, want once", name, n)
		}
		if r := mustCheck(t, m, mirrordir.CheckOptions{}); !r.OK() || len(r.Notes) > 0 {
			t.Errorf("%s: Check: %v, %v; want nothing", name, r.Problems, r.Notes)
		}
		f := must.Get(b.Open(t.Context(), recordOf(v1, linux)))(t)
		f.Close()
	}
}
