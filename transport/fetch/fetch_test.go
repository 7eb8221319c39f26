package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/fetch"
)

// serve returns settings with a token for a server, its URL and its host.
func serve(t *testing.T, handle http.HandlerFunc) (*transport.Settings, *url.URL, svchost.Hostname) {
	t.Helper()
	server := httptest.NewTLSServer(handle)
	t.Cleanup(server.Close)
	u := must.Get(url.Parse(server.URL + "/x"))(t)
	host := must.Get(svchost.FromWire(u.Host))(t)
	token := must.Get(auth.NewToken("s3cr3t"))(t)
	return &transport.Settings{HTTP: server.Client(), Credentials: auth.Static(map[svchost.Hostname]auth.Token{host: token}), Retries: -1}, u, host
}

func TestDocument(t *testing.T) {
	t.Parallel()
	const body = `{"a": "b"}`
	settings, u, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Seen", fmt.Sprintf("%s %s %s %s %s", r.Method, r.Header.Get("Authorization"), r.Header.Get("Accept"), r.Header.Get("Content-Type"), sent))
		io.WriteString(w, body)
	})
	for name, c := range map[string]struct {
		change func(*fetch.Request)
		seen   string
		err    error
	}{
		"zero":  {func(*fetch.Request) {}, "GET  */*", nil},
		"token": {func(r *fetch.Request) { r.TokenFor, r.Accept = host, "application/json" }, "GET Bearer s3cr3t application/json", nil},
		"write": {func(r *fetch.Request) {
			r.Method, r.Size, r.ContentType, r.Body = "PUT", 1, "text/plain", func() io.Reader { return strings.NewReader("x") }
		}, "PUT  */* text/plain x", nil},
		"too large": {func(r *fetch.Request) { r.Limit-- }, "", failure.ErrTooLarge},
		"http":      {func(r *fetch.Request) { r.URL = &url.URL{Scheme: "http", Host: u.Host} }, "", failure.ErrInsecure},
	} {
		r := fetch.Request{URL: u, Limit: int64(len(body))}
		c.change(&r)
		got, err := fetch.Document(t.Context(), settings, r)
		if !errors.Is(err, c.err) || c.err == nil && (err != nil || got.Header.Get("Seen") != c.seen) {
			t.Errorf("%s: Document = %+v, %v, want that the server saw %q, and %v", name, got, err, c.seen, c.err)
			continue
		}
		if _, ok := errors.AsType[*failure.RequestError](err); err != nil {
			if !ok {
				t.Errorf("%s: the error is %T, want a RequestError", name, err)
			}
			continue
		}
		var decoded struct{ A string }
		if err := got.DecodeJSON(&decoded); err != nil || decoded.A != "b" || got.Status != 200 || got.URL.String() != u.String() || string(got.Body) != body {
			t.Errorf("%s: %+v, decoded as %v, %v", name, got, decoded, err)
		}
		if e, ok := errors.AsType[*failure.RequestError](got.Unusable(errors.New("no list"))); !ok || e.Status != 200 || !strings.Contains(e.Error(), "no list") {
			t.Errorf("%s: Unusable = %v, want a RequestError with the status", name, e)
		}
	}
}

// TestOpen: a download that breaks is resumed.
func TestOpen(t *testing.T) {
	t.Parallel()
	settings, u, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("Range") == "" {
			w.Header().Set("Content-Length", "4")
			io.WriteString(w, "ab")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		http.ServeContent(w, r, "", must.Get(http.ParseTime("Mon, 02 Jan 2006 15:04:05 GMT"))(t), strings.NewReader("abcd"))
	})
	settings.Retries = 1
	body := must.Get(fetch.Open(t.Context(), settings, fetch.Request{URL: u, Limit: 4}))(t)
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil || string(data) != "abcd" || body.Size != 4 || body.Resumes() != 1 || body.Header.Get("ETag") == "" {
		t.Errorf("Open read %q, %v, size %d, %d resumes, want abcd, 4 and 1", data, err, body.Size, body.Resumes())
	}
	if e, ok := errors.AsType[*failure.RequestError](body.Unusable(errors.New("no ZIP"))); !ok || !strings.Contains(e.Error(), "no ZIP") {
		t.Errorf("Unusable = %v, want a RequestError", e)
	}
}

// TestEnds: nothing is requested with a context that has ended, and nil settings are the zero settings.
func TestEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := fetch.Request{URL: &url.URL{Scheme: "https", Host: "registry.example.com"}, Limit: 1}
	_, err1 := fetch.Document(ctx, nil, r)
	_, err2 := fetch.Open(ctx, nil, r)
	if !errors.Is(err1, context.Canceled) || !errors.Is(err2, context.Canceled) {
		t.Errorf("Document = %v, Open = %v, want context.Canceled", err1, err2)
	}
}
