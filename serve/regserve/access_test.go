package regserve_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/access"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// TestAccess: each answer after authorization has an entry that says what was asked for, and whether the source
// was asked.
func TestAccess(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	var got mirrortest.Entries
	handler := &regserve.Handler{Providers: h.Providers, Modules: h.Modules, Host: h.Host, StreamModules: true, Authorize: bearer, Access: got.Add}
	ask := func(method, path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	token := []string{"Authorization", "Bearer secret"}
	const alpha, network = originHost + "/acme/alpha", originHost + "/acme/network/aws"
	doc := ask("GET", packagePath, token...).Body.String()
	got.Take()
	signed := strings.TrimPrefix(member(t, doc, "download_url"), "https://example.com")
	for _, test := range []struct {
		method, path string
		header       []string
		want         string // empty: no entry
	}{
		{"GET", "/.well-known/terraform.json", nil, "discovery: 200"},
		{"GET", "/v1/providers/acme/alpha/versions", token, "versions " + alpha + ": 200 miss"},
		{"GET", packagePath, token, "package " + alpha + " 1.0.0 linux_amd64: 200 miss"}, // the evidence was kept
		{"GET", signed, nil, "archive " + alpha + " 1.0.0 linux_amd64: 200 miss"},
		{"HEAD", signed, nil, "archive " + alpha + " 1.0.0 linux_amd64: 200 hit"},
		{"GET", packagePath + "/SHA256SUMS" + query(t, doc, "shasums_url"), nil, "sums " + alpha + " 1.0.0 linux_amd64: 200 hit"},
		{"GET", packagePath + "/SHA256SUMS.sig" + query(t, doc, "shasums_signature_url"), nil, "signature " + alpha + " 1.0.0 linux_amd64: 200 hit"},
		{"GET", "/v1/modules/acme/network/aws/versions", token, "module versions " + network + ": 200 miss"},
		{"GET", "/v1/modules/acme/network/aws/1.0.0/download", token, "module location " + network + " 1.0.0: 200 miss"},
		{"GET", "/v1/modules/acme/network/aws/1.0.0/package", token, "module " + network + " 1.0.0: 200 miss"},
		{"GET", "/v1/providers/acme/nothing/versions", token, "versions " + originHost + "/acme/nothing: 404 miss"},
		{"GET", "/v1/providers/acme/alpha/versions", nil, ""}, // not authorized
		{"GET", archivePath + "?signature=1&until=1", nil, ""},
		{"GET", "/v1/providers/ACME/alpha/versions", token, ""}, // names nothing
		{"GET", "/other", token, ""},
		{"POST", "/v1/providers/acme/alpha/versions", token, ""},
	} {
		w := ask(test.method, test.path, test.header...)
		list, texts := got.Take()
		var want []string
		if test.want != "" {
			want = []string{test.want}
		}
		if !slices.Equal(texts, want) {
			t.Errorf("%s %s: entries %q, want %q", test.method, test.path, texts, want)
			continue
		}
		for _, e := range list {
			if bytes := int64(w.Body.Len()); e.Bytes != bytes || e.Status != w.Code || e.Duration <= 0 {
				t.Errorf("%s %s: %d bytes, status %d, %v; want %d, %d and a duration", test.method, test.path, e.Bytes, e.Status, e.Duration, bytes, w.Code)
			}
		}
	}
}

// query returns the query of a URL in a document, with its question mark.
func query(t *testing.T, doc, name string) string {
	t.Helper()
	_, query, ok := strings.Cut(member(t, doc, name), "?")
	if !ok {
		t.Fatalf("%s is not signed: %s", name, doc)
	}
	return "?" + query
}

// TestAccessOfCache: with a Cache as source, an entry says what the Cache did.
func TestAccessOfCache(t *testing.T) {
	t.Parallel()
	reg, h := origin(t)
	cache := &mirrorserve.Cache{Source: h.Providers, Mirror: &mirrordir.Mirror{Store: &storage.Memory{}, TempDir: t.TempDir()}, Wait: -1}
	var got mirrortest.Entries
	for _, want := range []string{"miss", "hit"} {
		server := &regserve.Handler{Providers: cache, Host: h.Host, Access: got.Add} // without a memory
		for _, path := range []string{packagePath, archivePath, packagePath + "/SHA256SUMS"} {
			if status, body := answer(server, "", path); status != http.StatusOK {
				t.Fatalf("GET %s: status %d, %s", path, status, body)
			}
		}
		_, texts := got.Take()
		for i, kind := range []string{"archive ", "package "} {
			if !strings.HasPrefix(texts[i], kind) || !strings.HasSuffix(texts[i], " "+want) {
				t.Errorf("entries %q, want the %sas a %s", texts, kind, want)
			}
		}
		if want == "miss" {
			reg.Reset()
		}
	}
	if c := cache.Counts(); c != (mirrorserve.CacheCounts{Hits: 1, Misses: 1}) {
		t.Errorf("Counts = %+v, want a hit and a miss", c)
	}
	if n := reg.Count(regtest.Archive); n != 0 {
		t.Errorf("the origin was asked for the archive %d times after it was stored", n)
	}
}

// TestAborted: a connection that breaks off has an entry that says so.
func TestAborted(t *testing.T) {
	t.Parallel()
	_, h := origin(t)
	var got mirrortest.Entries
	src := &content{Source: h.Providers, data: strings.Repeat("x", 1<<20), stated: hashOf(t, "other")}
	server := serve(t, &regserve.Handler{Providers: src, Host: h.Host, Access: got.Add})
	if _, _, err := fetchRange(t, server, ""); err == nil {
		t.Error("another archive came whole")
	}
	if _, list := got.Take(); !slices.Equal(list, []string{"archive " + originHost + "/acme/alpha 1.0.0 linux_amd64: 200 miss aborted"}) {
		t.Errorf("entries %q, want an aborted archive", list)
	}
	synctest.Test(t, func(t *testing.T) {
		handler := &regserve.Handler{Providers: h.Providers, Host: h.Host, Access: got.Add}
		func() {
			defer func() { _ = recover() }() // the answer is aborted
			handler.ServeHTTP(&closedWindow{ResponseRecorder: httptest.NewRecorder()}, httptest.NewRequest("GET", archivePath, nil))
		}()
		list, _ := got.Take()
		if len(list) != 1 || !list[0].Aborted || list[0].Duration != time.Minute {
			t.Errorf("entries %+v, want an aborted archive after a minute", list)
		}
	})
}

// blocking is a source that answers nothing until the context of the request ends.
type blocking struct {
	provider.Source
	module.Opener
}

func wait[T any](ctx context.Context) (none T, err error) {
	<-ctx.Done()
	return none, ctx.Err()
}

func (blocking) ProviderVersions(ctx context.Context, _ addrs.Provider) (*provider.Versions, error) {
	return wait[*provider.Versions](ctx)
}

func (blocking) ProviderPackage(ctx context.Context, _ addrs.Provider, _ addrs.Version, _ addrs.Platform) (*provider.Package, error) {
	return wait[*provider.Package](ctx)
}

func (blocking) ModuleVersions(ctx context.Context, _ addrs.Module) (*module.Versions, error) {
	return wait[*module.Versions](ctx)
}

func (blocking) ModuleLocation(ctx context.Context, _ addrs.Module, _ addrs.Version) (*module.Location, error) {
	return wait[*module.Location](ctx)
}

// TestBusy: beyond its share a client makes no request to the source, whatever it asks for. The answer has an entry like any
// other, and its error says what was asked for.
func TestBusy(t *testing.T) {
	t.Parallel()
	for path, want := range casetest.Pairs(t, "busy.txt") {
		synctest.Test(t, func(t *testing.T) {
			var got mirrortest.Entries
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			handler := &regserve.Handler{
				Providers: blocking{}, Modules: blocking{}, Host: svchost.MustParse(originHost), StreamModules: true,
				Parallel: 1, Access: got.Add, Authorize: func(*http.Request) error { return nil },
			}
			for range 4 {
				go handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", path, nil))
			}
			synctest.Wait()
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path, nil))
			_, subject, _ := strings.Cut(want, originHost+"/")
			if _, list := got.Take(); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"`+subject+`: too many requests`) || !slices.Equal(list, []string{want + ": 503"}) {
				t.Errorf("GET %s beyond the share: status %d, %s; entries %q, want 503 and %q", path, w.Code, w.Body, list, want)
			}
			cancel()
		})
	}
}

// TestErrorsNameTheSubject: the text of an error says what was asked for, in the words of the client, and neither
// the host nor the URL of the source.
func TestErrorsNameTheSubject(t *testing.T) {
	t.Parallel()
	failing := errors.New("get https://secret.example.com/key?token=secret: refused")
	_, h := origin(t)
	handler := &regserve.Handler{Providers: mirrortest.Failing{Err: failing}, Modules: h.Modules, Host: h.Host}
	for path, want := range map[string]string{
		"/v1/providers/acme/alpha/versions":           "acme/alpha: the source did not give a usable answer",
		packagePath:                                   "acme/alpha 1.0.0 linux_amd64: the source did not give a usable answer",
		archivePath:                                   "acme/alpha 1.0.0 linux_amd64: the source did not give a usable answer",
		"/v1/modules/acme/nothing/aws/versions":       "acme/nothing/aws: ",
		"/v1/modules/acme/network/aws/9.0.0/download": "acme/network/aws 9.0.0: ",
		"/nothing":                                    "nothing is served at this path",
	} {
		_, body := answer(handler, "", path)
		if !strings.Contains(body, `"`+want) || strings.Contains(body, "secret") || strings.Contains(body, originHost) {
			t.Errorf("GET %s: %s; want %q, and nothing of the source", path, body, want)
		}
	}
}

// BenchmarkDocument measures a document and an archive whose package is remembered, with and without Access.
func BenchmarkDocument(b *testing.B) {
	_, h := origin(b)
	for name, f := range map[string]func(context.Context, access.Entry){"plain": nil, "access": func(context.Context, access.Entry) {}} {
		for kind, path := range map[string]string{"document": packagePath, "archive": archivePath} {
			handler := &regserve.Handler{Providers: h.Providers, Host: h.Host, Access: f}
			b.Run(kind+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					w := httptest.NewRecorder()
					if handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil)); w.Code != http.StatusOK {
						b.Fatal(must.Get(w.Body.ReadString('\n'))(b))
					}
				}
			})
		}
	}
}
