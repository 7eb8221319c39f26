package mirrorserve_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// TestAccess: entries say whether a Cache had the answer, and its numbers agree.
func TestAccess(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	var got mirrortest.Entries
	m, _ := newMirror(t)
	cache := &mirrorserve.Cache{Source: src, Mirror: m, Wait: -1}
	handler := &mirrorserve.Handler{Source: cache, Access: got.Add}
	ask := func(h http.Handler, name string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/"+name, nil))
		return w
	}
	const of = "registry.example.com/acme/alpha"
	one := of + " 1.0.0"
	for _, test := range []struct{ name, want string }{
		{home + "/index.json", "versions " + of + ": 200 miss"},
		{home + "/1.0.0.json", "archives " + one + ": 200 miss"},
		{archive(v1, linux), "archive " + one + " linux_amd64: 200 miss"},
		{archive(v1, linux), "archive " + one + " linux_amd64: 200 hit"},
		{home + "/9.0.0.json", "archives " + of + " 9.0.0: 404"}, // a failed document says nothing of the cache
	} {
		w := ask(handler, test.name)
		if list, texts := got.Take(); !slices.Equal(texts, []string{test.want}) {
			t.Errorf("GET %s: entries %q, want %s", test.name, texts, test.want)
		} else if e := list[0]; e.Bytes != int64(w.Body.Len()) || e.Duration <= 0 || e.Aborted {
			t.Errorf("GET %s: %+v for %d bytes", test.name, e, w.Body.Len())
		}
	}
	reg.AddFault(regtest.Fault{Status: http.StatusInternalServerError})
	ask(handler, home+"/index.json") // from the mirror
	ask(handler, archive(v2, linux)) // fails
	if _, list := got.Take(); !slices.Equal(list, []string{"archive " + of + " 2.0.0 linux_amd64: 502 miss", "versions " + of + ": 200 miss"}) {
		t.Errorf("entries %q after a fault", list)
	}
	if c := cache.Counts(); c.Hits != 1 || c.Misses != 1 || c.Failures == 0 {
		t.Errorf("Counts = %+v, want a hit, a miss and failures", c)
	}
	ask(&mirrorserve.Handler{Source: m, Access: got.Add}, archive(v1, linux))
	if _, list := got.Take(); !slices.Equal(list, []string{"archive " + one + " linux_amd64: 200"}) {
		t.Errorf("entries %q of a mirror, want one that is neither hit nor miss", list)
	}
}

// slowLists is a source whose lists take a second.
type slowLists struct{ provider.Source }

func (s slowLists) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	time.Sleep(time.Second)
	return s.Source.ProviderVersions(ctx, p)
}

// TestAccessIsShared: requests that share the work for a document have the same entry.
func TestAccessIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, src := newRegistry(t)
		var got mirrortest.Entries
		m, _ := newMirror(t)
		handler := &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: slowLists{src}, Mirror: m, Wait: -1}, Access: got.Add}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/"+home+"/index.json", nil))
			})
		}
		all.Wait()
		_, list := got.Take()
		if len(list) != 3 || slices.Contains(list, "") || len(slices.Compact(list)) != 1 || !strings.HasSuffix(list[0], "200 miss") {
			t.Errorf("entries %q, want three misses", list)
		}
	})
}

// blocking is a source that has no package until the context of the request ends.
type blocking struct{ provider.Source }

func (blocking) ProviderPackage(ctx context.Context, _ addrs.Provider, _ addrs.Version, _ addrs.Platform) (*provider.Package, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestBusy: beyond its share a client does not queue for the source, so others are not behind it.
func TestBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got mirrortest.Entries
		h := &mirrorserve.Handler{Source: blocking{}, Parallel: 1, Access: got.Add}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		ask := func(i int) int {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/"+archive(addrs.MustParseVersion(fmt.Sprintf("1.%d.0", i)), linux), nil))
			return w.Code
		}
		for i := range 4 {
			go ask(i)
		}
		synctest.Wait()
		status := ask(4)
		if _, list := got.Take(); status != http.StatusServiceUnavailable || !slices.Equal(list, []string{"archive registry.example.com/acme/alpha 1.4.0 linux_amd64: 503"}) {
			t.Errorf("beyond the share: status %d, entries %q, want 503 and no request to the source", status, list)
		}
		cancel()
		synctest.Wait()
	})
}

// TestErrorsNameTheSubject: the text of an error says what was asked for, and nothing of the source's URL.
func TestErrorsNameTheSubject(t *testing.T) {
	t.Parallel()
	h := &mirrorserve.Handler{Source: failing{Err: errors.New("get https://secret.example.com/key?token=secret: refused")}}
	for name, want := range map[string]string{
		home + "/index.json": "registry.example.com/acme/alpha: the source did not give a usable answer",
		home + "/1.0.0.json": "registry.example.com/acme/alpha 1.0.0: the source did not give a usable answer",
		archive(v1, linux):   "registry.example.com/acme/alpha 1.0.0 linux_amd64: the source did not give a usable answer",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/"+name, nil))
		if body := w.Body.String(); !strings.Contains(body, `"`+want) || strings.Contains(body, "secret") {
			t.Errorf("GET %s: %s; want %q, and nothing of the source", name, body, want)
		}
	}
}

// TestSharedSecret: both handlers may share a secret. A URL that one has signed does not work at the other, or for
// another file.
func TestSharedSecret(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	authorize := func(r *http.Request) error {
		if r.Header.Get("Authorization") == "" {
			return errors.New("no token")
		}
		return nil
	}
	m, _ := newMirror(t)
	mirror := &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: m}, Authorize: authorize, Secret: []byte("shared")}
	registry := &regserve.Handler{Providers: src, Host: alpha.Host(), Authorize: authorize, Secret: []byte("shared")}
	ask := func(h http.Handler, path, token string) (int, string) {
		r := httptest.NewRequest("GET", path, nil)
		if token != "" {
			r.Header.Set("Authorization", token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	query := func(doc string) string {
		_, rest, ok := strings.Cut(doc, "linux_amd64.zip?")
		if !ok {
			_, rest, ok = strings.Cut(doc, "archive.zip?")
		}
		if !ok {
			t.Fatalf("no signed URL in %s", doc)
		}
		rest, _, _ = strings.Cut(rest, `"`)
		return "?" + strings.ReplaceAll(rest, `\u0026`, "&")
	}
	_, doc := ask(mirror, "/"+home+"/1.0.0.json", "x")
	atMirror := query(doc)
	const pkg = "/v1/providers/acme/alpha/1.0.0/download/linux/amd64"
	_, doc = ask(registry, pkg, "x")
	atRegistry := query(doc)
	for _, test := range []struct {
		h    http.Handler
		path string
		want int
	}{
		{mirror, "/" + archive(v1, linux) + atMirror, 200}, {mirror, "/" + archive(v1, linux) + atRegistry, 401}, {mirror, "/" + archive(v2, linux) + atMirror, 401},
		{registry, pkg + "/archive.zip" + atRegistry, 200}, {registry, pkg + "/archive.zip" + atMirror, 401}, {registry, pkg + "/SHA256SUMS" + atRegistry, 401},
	} {
		if status, body := ask(test.h, test.path, ""); status != test.want {
			t.Errorf("GET %s: status %d, %.100s; want %d", test.path, status, body, test.want)
		}
	}
}
