package doccache_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/transport/doccache"
)

// origin is a server in this process, as a transport.
type origin struct {
	mu       sync.Mutex
	requests []*http.Request
	answer   func(n int, req *http.Request) (*http.Response, error) // n counts from 1
}

func (o *origin) RoundTrip(req *http.Request) (*http.Response, error) {
	o.mu.Lock()
	o.requests = append(o.requests, req)
	n := len(o.requests)
	o.mu.Unlock()
	resp, err := o.answer(n, req)
	if resp != nil {
		resp.Request = req
	}
	return resp, err
}

func (o *origin) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.requests)
}

func (o *origin) last() *http.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.requests[len(o.requests)-1]
}

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
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// answer is a status, a header and a body.
type answer struct {
	status int
	header http.Header
	body   string
}

// answers returns the answers of a list, the last one repeatedly.
func answers(list ...answer) *origin {
	return &origin{answer: func(n int, _ *http.Request) (*http.Response, error) {
		a := list[min(n, len(list))-1]
		return reply(a.status, a.header.Clone(), a.body), nil
	}}
}

// numbered answers the nth request with {"n":n} and these headers.
func numbered(list ...string) *origin {
	return &origin{answer: func(n int, _ *http.Request) (*http.Response, error) {
		return reply(http.StatusOK, headers(list...), fmt.Sprintf(`{"n":%d}`, n)), nil
	}}
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
func always(h http.Header, body string) *origin {
	return &origin{answer: func(_ int, req *http.Request) (*http.Response, error) {
		if tag := h.Get("Etag"); tag != "" && req.Header.Get("If-None-Match") == tag {
			return reply(http.StatusNotModified, h.Clone(), ""), nil
		}
		if m := h.Get("Last-Modified"); m != "" && req.Header.Get("If-Modified-Since") == m {
			return reply(http.StatusNotModified, h.Clone(), ""), nil
		}
		return reply(http.StatusOK, h.Clone(), body), nil
	}}
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

// want requests url and checks the body and the number of requests to the server so far.
func want(t testing.TB, tr *doccache.Transport, url, body string, requests int, list ...string) *http.Response {
	t.Helper()
	resp, got := get(t, tr, request(t, url, list...))
	if got != body {
		t.Errorf("body %q, want %q", got, body)
	}
	if n := tr.Base.(*origin).count(); n != requests {
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
