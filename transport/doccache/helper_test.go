package doccache_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/transport/doccache"
)

// headers returns a header of names and values. The default media type is JSON.
func headers(list ...string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(list); i += 2 {
		if list[i+1] == "" {
			h.Del(list[i])
		} else {
			h.Set(list[i], list[i+1])
		}
	}
	return h
}

func reply(status int, h http.Header, body string) *http.Response {
	resp := webtest.Reply(status, io.NopCloser(strings.NewReader(body)), int64(len(body)))
	resp.Header = h.Clone()
	return resp
}

// answer answers with a status, a header and a body.
func answer(status int, h http.Header, body string) webtest.Handler {
	return func(int, *http.Request) (*http.Response, error) { return reply(status, h, body), nil }
}

// edited answers like h, with a response that edit has changed, if it is not nil.
func edited(h webtest.Handler, edit func(*http.Response)) webtest.Handler {
	return func(n int, r *http.Request) (*http.Response, error) {
		resp, err := h(n, r)
		if edit != nil {
			edit(resp)
		}
		return resp, err
	}
}

// numbered answers the nth request, from 1, with {"n":n} and these headers.
func numbered(list ...string) webtest.Handler {
	return func(n int, _ *http.Request) (*http.Response, error) {
		return reply(http.StatusOK, headers(list...), fmt.Sprintf(`{"n":%d}`, n+1)), nil
	}
}

// bubble runs a parallel subtest in a bubble of synctest, with a directory.
func bubble(t *testing.T, name string, test func(t *testing.T, dir string)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) { test(t, dir) })
	})
}

// always answers with the same document, or with 304 if the request has its tag or date.
func always(h http.Header, body string) *webtest.Server {
	return webtest.Serve(func(_ int, req *http.Request) (*http.Response, error) {
		for name, condition := range map[string]string{"Etag": "If-None-Match", "Last-Modified": "If-Modified-Since"} {
			if v := h.Get(name); v != "" && req.Header.Get(condition) == v {
				return reply(http.StatusNotModified, h, ""), nil
			}
		}
		return reply(http.StatusOK, h, body), nil
	})
}

const doc = "https://registry.example.com/v1/providers/acme/alpha/versions"

// settings are fields of a Transport.
type settings struct {
	FreshFor, StaleIfError time.Duration
	Refresh, Offline       bool
}

func (s settings) transport(base http.RoundTripper, dir string) *doccache.Transport {
	return &doccache.Transport{
		Base: base, Dir: dir, FreshFor: s.FreshFor, StaleIfError: s.StaleIfError, Refresh: s.Refresh, Offline: s.Offline,
	}
}

// request returns a GET request with these headers.
func request(t testing.TB, url string, list ...string) *http.Request {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	req.Header = headers(list...)
	req.Header.Del("Content-Type")
	return req
}

// get makes a request and reads the answer.
func get(t testing.TB, tr http.RoundTripper, req *http.Request) (*http.Response, string) {
	t.Helper()
	resp := must.Get(tr.RoundTrip(req))(t)
	body := must.Get(io.ReadAll(resp.Body))(t)
	must.Do(t, resp.Body.Close())
	if resp.Request != req {
		t.Error("Request of the answer is not the request")
	}
	return resp, string(body)
}

// count returns the number of requests to a *webtest.Server.
func count(server http.RoundTripper) int { return len(server.(*webtest.Server).Requests()) }

// want requests url and checks the body and the number of requests to the server so far.
func want(t testing.TB, tr *doccache.Transport, url, body string, requests int, list ...string) *http.Response {
	t.Helper()
	resp, got := get(t, tr, request(t, url, list...))
	if got != body {
		t.Errorf("body %q, want %q", got, body)
	}
	if n := count(tr.Base); n != requests {
		t.Errorf("the server has seen %d requests, want %d", n, requests)
	}
	return resp
}

// entries returns the files of cached documents.
func entries(t testing.TB, dir string) []string {
	t.Helper()
	return must.Get(filepath.Glob(filepath.Join(dir, doccache.Version, "*.doc")))(t)
}

// checkFiles fails the test if there are other files than documents.
func checkFiles(t testing.TB, dir string) {
	t.Helper()
	names := must.Get(os.ReadDir(filepath.Join(dir, doccache.Version)))(t)
	for _, n := range names {
		if !strings.HasSuffix(n.Name(), ".doc") {
			t.Errorf("%s is left behind", n.Name())
		}
		if info, err := n.Info(); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
			t.Errorf("%s has mode %v, %v", n.Name(), info.Mode(), err)
		}
	}
}

// containsText reports whether a file in dir, or its name, contains text.
func containsText(t testing.TB, dir, text string) bool {
	t.Helper()
	names := must.Get(os.ReadDir(filepath.Join(dir, doccache.Version)))(t)
	for _, n := range names {
		data := must.Get(os.ReadFile(filepath.Join(dir, doccache.Version, n.Name())))(t)
		if strings.Contains(n.Name(), text) || bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}
