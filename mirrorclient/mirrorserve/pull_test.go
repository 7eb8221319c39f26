package mirrorserve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/mirrorclient/mirrorserve"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
)

// held is a client that does not read the end of a response until it may.
type held struct {
	*httptest.ResponseRecorder
	sent, free chan struct{}
}

func hold() *held { return &held{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})} }

func (h *held) Write(p []byte) (int, error) {
	if strconv.Itoa(h.Body.Len()+len(p)) == h.Header().Get("Content-Length") {
		close(h.sent)
		<-h.free
	}
	return h.ResponseRecorder.Write(p)
}

// replaceable is a source that can be replaced.
type replaceable struct{ provider.Source }

// TestReplacedOnTheWay checks that a request after a replacement gets the new archive, while
// earlier clients get the old one completely.
func TestReplacedOnTheWay(t *testing.T) {
	t.Parallel()
	_, before := newRegistry(t)
	other := regtest.New("registry.example.com")
	other.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: names(three), Files: map[string]string{"other": "content"}})
	after := client(other)
	old := must.Get(before.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	want := must.Get(after.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	stated := func(t *testing.T, w *httptest.ResponseRecorder, pkg *provider.Package) {
		t.Helper()
		zh, err := checksum.ZH(t.Context(), w.Body)
		if err != nil || w.Code != http.StatusOK || zh != pkg.SHA256 || w.Header().Get("Etag") != `"`+zh.Value()+`"` {
			t.Errorf("%d with tag %s and the bytes of %v, %v; want %v", w.Code, w.Header().Get("Etag"), zh, err, pkg.SHA256)
		}
	}
	for name, open := range map[string]func() (src provider.Source, replace func()){
		"mirror": func() (provider.Source, func()) {
			m, _ := newMirror(t)
			mustAdd(t, m, before, wants(three, v1), mirrordir.Options{})
			return m, func() { replaceIn(t, m, after) }
		},
		"cache": func() (provider.Source, func()) {
			h, c, _ := newCache(t, before)
			mustFetch(t, h, archive(v1, linux)) // so that it is not added during the replacement
			return c, func() { replaceIn(t, c.Mirror, after) }
		},
		"pulled through": func() (provider.Source, func()) {
			src := &replaceable{before}
			return src, func() { src.Source = after }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, replace := open()
			h := &mirrorserve.Handler{Source: src, TempDir: t.TempDir()}
			get := httptest.NewRequestWithContext(t.Context(), "GET", "/"+archive(v1, linux), nil)
			first, done := hold(), make(chan struct{})
			go func() {
				defer close(done)
				h.ServeHTTP(first, get)
			}()
			<-first.sent
			replace()
			stated(t, ask(h, "GET", "/"+archive(v1, linux)), want)
			if c, ok := src.(*mirrorserve.Cache); ok {
				body := must.Get(c.Open(t.Context(), want))(t)
				if zh, err := checksum.ZH(t.Context(), body); err != nil || zh != want.SHA256 {
					t.Errorf("Open: %v, %v", zh, err)
				}
				body.Close()
			}
			close(first.free)
			<-done
			stated(t, first.ResponseRecorder, old)
		})
	}
}

// replaceIn replaces archives in a mirror by those of another source.
func replaceIn(t *testing.T, m *mirrordir.Mirror, src provider.Source) {
	t.Helper()
	must.Do(t, m.Remove(t.Context(), alpha))
	mustAdd(t, m, src, wants(three, v1), mirrordir.Options{})
}

// leaving is a client that reads some bytes and leaves.
type leaving struct {
	*httptest.ResponseRecorder
	takes int
}

func (l *leaving) Write(p []byte) (int, error) {
	if l.Body.Len()+len(p) > l.takes {
		return 0, io.ErrClosedPipe
	}
	return l.ResponseRecorder.Write(p)
}

// TestRanges checks that single ranges are served, and that several ranges get the whole archive.
func TestRanges(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	reg, _ := sized(size)
	h := &mirrorserve.Handler{Source: client(reg), TempDir: t.TempDir()}
	whole := mustFetch(t, h, archive(v1, linux))
	for _, ranges := range []string{"bytes=0-9,20-29", "bytes=0-499999,500000-", "bytes=-5,0-5"} {
		w := ask(h, "GET", "/"+archive(v1, linux), "Range", ranges)
		if w.Code != http.StatusOK || w.Body.String() != whole {
			t.Errorf("%s: %d, %d bytes of %s", ranges, w.Code, w.Body.Len(), w.Header().Get("Content-Type"))
		}
		for takes := range 4 {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/"+archive(v1, linux), nil)
			r.Header.Set("Range", ranges)
			h.ServeHTTP(&leaving{httptest.NewRecorder(), takes * size / 4}, r)
			if got := r.Header.Get("Range"); got != ranges {
				t.Errorf("the caller's request asks for %q now", got)
			}
		}
	}
}
