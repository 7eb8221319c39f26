package mirrorserve_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// denying is a source that embeds a Mirror and refuses some packages.
type denying struct{ *mirrordir.Mirror }

func (d denying) ProviderVersions(context.Context, addrs.Provider) (*provider.Versions, error) {
	return nil, failure.ErrNotFound
}

func (d denying) ProviderPackage(context.Context, addrs.Provider, addrs.Version, addrs.Platform) (*provider.Package, error) {
	return nil, failure.ErrNotFound
}

func (d denying) Open(context.Context, *provider.Package) (*provider.Body, error) {
	return nil, failure.ErrNotFound
}

// TestEmbeddedMirrorDecides checks that the methods of a type that embeds a Mirror decide what is
// served.
func TestEmbeddedMirrorDecides(t *testing.T) {
	t.Parallel()
	m, _, _, _ := filled(t)
	h := &mirrorserve.Handler{Source: denying{m}}
	for _, path := range []string{"/" + home + "/index.json", "/" + home + "/1.0.0.json", "/" + archive(v1, linux)} {
		if w := ask(h, "GET", path); w.Code != 404 {
			t.Errorf("%s: %d %.200s", path, w.Code, w.Body)
		}
	}
}

// logging is a source that embeds a Mirror.
type logging struct{ *mirrordir.Mirror }

// TestEmbeddedMirrorIsJudged checks that the packages of a type that embeds a Mirror are verified.
func TestEmbeddedMirrorIsJudged(t *testing.T) {
	t.Parallel()
	m, dir, _, _ := filled(t)
	data := []byte(read(t, dir, archive(v1, linux)))
	data[len(data)/2] ^= 1
	write(t, dir, archive(v1, linux), string(data))
	h := &mirrorserve.Handler{Source: logging{m}}
	if code, body := fetch(h, archive(v1, linux)); code == 200 && body == string(data) {
		t.Error("an archive that is not the one on record was served")
	}
	if code, body := fetch(h, archive(v2, linux)); code != 200 || body != read(t, dir, archive(v2, linux)) {
		t.Errorf("a good archive: %d", code)
	}
	if w := ask(h, "GET", "/"+home+"/2.0.0.json"); w.Code != 200 || len(mirrortest.Parse[document](t, w.Body.String()).Archives) != 3 {
		t.Errorf("document: %d %s", w.Code, w.Body)
	}
	strict := &mirrorserve.Handler{Source: logging{m}, Policy: policyOf(verify.Policy{Accept: checksum.NewSet()})}
	if code, body := fetch(strict, archive(v2, linux)); code == 200 && body == read(t, dir, archive(v2, linux)) {
		t.Error("the policy was not asked")
	}
}

// fetch requests an archive. The status of an aborted response is 0.
func fetch(h http.Handler, name string) (status int, body string) {
	var w *httptest.ResponseRecorder
	if aborted(func() { w = ask(h, "GET", "/"+name) }) {
		return 0, ""
	}
	return w.Code, w.Body.String()
}

// TestHandlerLogLevels checks that a missing package is logged at level Debug, and a failure of the
// source at level Warn, and that no secrets are sent.
func TestHandlerLogLevels(t *testing.T) {
	t.Parallel()
	m, _, _, _ := filled(t)
	broken := func(status int, err error) failing {
		return failing{Err: &failure.Error{Op: "list versions of", Subject: "x", Err: &failure.RequestError{URL: "https://secret.example", Status: status, Attempts: 1, Err: err}}}
	}
	faulty := func(faults ...regtest.Fault) provider.Source {
		reg, src := newRegistry(t)
		for _, f := range faults {
			reg.AddFault(f)
		}
		return src
	}
	noSums, noArchive := regtest.Fault{Kind: regtest.Sums, Status: 404}, regtest.Fault{Kind: regtest.Archive, Status: 404}
	noSize := regtest.Fault{Kind: regtest.Archive, Header: http.Header{"Content-Length": nil}}
	for name, test := range map[string]struct {
		source provider.Source
		path   string
		status int
		level  string
	}{
		"no such address":           {m, "/x", 404, "DEBUG"},
		"no such provider":          {m, "/registry.example.com/acme/none/index.json", 404, "DEBUG"},
		"no such version":           {m, "/" + home + "/9.0.0.json", 404, "DEBUG"},
		"no such archive":           {m, "/" + archive(addrs.MustParseVersion("9.0.0"), linux), 404, "DEBUG"},
		"the source fails":          {broken(500, errors.New("status 500")), "/" + home + "/index.json", 502, "WARN"},
		"the source refuses":        {broken(401, failure.ErrUnauthorized), "/" + home + "/index.json", 502, "WARN"},
		"the source lacks it":       {broken(0, failure.ErrNotFound), "/" + home + "/index.json", 404, "DEBUG"},
		"another error":             {failing{Err: errors.New("dial tcp secret.example")}, "/" + home + "/index.json", 502, "WARN"},
		"sums that are not there":   {faulty(noSums), "/" + home + "/1.0.0.json", 502, "WARN"},
		"archive that is not there": {faulty(noArchive), "/" + archive(v1, linux), 502, "WARN"},
		"archive without its sums":  {faulty(noSums, noSize), "/" + archive(v1, linux), 502, "WARN"},
	} {
		var log strings.Builder
		w := ask(&mirrorserve.Handler{
			Source: test.source,
			Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		}, "GET", test.path)
		if strings.Contains(w.Body.String(), "secret") || !strings.Contains(w.Body.String(), "errors") {
			t.Errorf("%s: the answer is %s, want an error without the URL of the source", name, w.Body)
		}
		if w.Code != test.status || !strings.Contains(log.String(), "level="+test.level) {
			t.Errorf("%s: %d, want %d; log %q, want level %q", name, w.Code, test.status, &log, test.level)
		}
	}
}

// bearer accepts one token.
func bearer(r *http.Request) error {
	if r.Header.Get("Authorization") != "Bearer secret" {
		return errors.New("unknown token")
	}
	return nil
}

// TestAuthorize checks that a document needs a token, and an archive a token or the signed URL in a
// document, which holds for this archive, its time and the secret; and that Archive redirects.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _, _, _ := filled(t)
		h := &mirrorserve.Handler{Source: m, Authorize: bearer, Secret: []byte("shared")}
		status := func(h http.Handler, path string, header ...string) int { return ask(h, "GET", path, header...).Code }
		doc := ask(h, "GET", "/"+home+"/1.0.0.json", "Authorization", "Bearer secret")
		signed := "/" + home + "/" + mirrortest.Parse[mirrortest.Document](t, doc.Body.String()).Archives["linux_amd64"].URL
		_, query, _ := strings.Cut(signed, "?")
		redirecting := &mirrorserve.Handler{Source: m, Authorize: bearer, Secret: []byte("shared"), Archive: func(_ context.Context, pkg *provider.Package) (string, error) {
			return map[addrs.Platform]string{linux: "https://bucket.example.com/x.zip"}[pkg.Platform], map[addrs.Platform]error{windows: errors.New("no bucket")}[pkg.Platform]
		}}
		if w := ask(redirecting, "HEAD", signed); w.Code != 200 {
			t.Errorf("HEAD with Archive: status %d, want 200 without a redirect", w.Code)
		}
		if w := ask(redirecting, "GET", signed); w.Code != 302 || w.Header().Get("Location") != "https://bucket.example.com/x.zip" {
			t.Errorf("GET with Archive: status %d to %q, want a redirect to the bucket", w.Code, w.Header().Get("Location"))
		}
		for _, test := range []struct {
			handler http.Handler
			path    string
			token   string
			want    int
		}{
			{h, "/" + home + "/index.json", "", 401},
			{h, "/" + home + "/index.json", "Bearer other", 401},
			{h, "/" + home + "/index.json", "Bearer secret", 200},
			{h, "/" + home + "/index.json?" + query, "", 401},
			{h, "/" + archive(v1, linux), "", 401},
			{h, "/" + archive(v1, linux), "Bearer secret", 200},
			{h, signed, "", 200},
			{h, "/" + archive(v1, darwin) + "?" + query, "", 401},
			{h, "/" + archive(v2, linux) + "?" + query, "", 401},
			{&mirrorserve.Handler{Source: m, Authorize: bearer, Secret: []byte("shared")}, signed, "", 200},
			{&mirrorserve.Handler{Source: m, Authorize: bearer}, signed, "", 401},
			{redirecting, "/" + archive(v1, linux), "", 401},
			{redirecting, "/" + archive(v1, darwin), "Bearer secret", 200},
			{redirecting, "/" + archive(v1, windows), "Bearer secret", 502},
		} {
			if got := status(test.handler, test.path, "Authorization", test.token); got != test.want {
				t.Errorf("GET %s with the token %q: status %d, want %d", test.path, test.token, got, test.want)
			}
		}
		time.Sleep(time.Hour - time.Second)
		if got := status(h, signed); got != 200 {
			t.Errorf("the signed URL before its end: status %d, want 200", got)
		}
		time.Sleep(time.Hour + 2*time.Second)
		if got := status(h, signed); got != 401 {
			t.Errorf("the signed URL after its end: status %d, want 401", got)
		}
	})
}

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
			mustAdd(t, m, before, wants(three, v1), mirrordir.AddOptions{})
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
	mustAdd(t, m, src, wants(three, v1), mirrordir.AddOptions{})
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
