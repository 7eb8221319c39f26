package httpx_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/testing/webtest"
)

// secret is the token. It must not be in any text.
const secret = "s3cr3t-t0ken"

// Short names of the kit.
var (
	serve, status, redirect = webtest.Serve, webtest.Status, webtest.Redirect
	fails, hangs, reply     = webtest.Fails, webtest.Hangs, webtest.Reply
	bubble                  = webtest.Bubble
)

type handler = webtest.Handler

var (
	home     = svchost.MustParse("registry.example.com")
	errReset = errors.New("connection reset by peer")
)

// hops redirects each request to the next location, and answers the last one.
func hops(code int, locations []string) *webtest.Server {
	return serve(func(n int, r *http.Request) (*http.Response, error) {
		if n < len(locations) {
			return status(code, "moved", "Location: "+locations[n])(n, r)
		}
		return status(200, "")(n, r)
	})
}

// authorized reports for each request whether it had the Authorization header want. Any
// other one fails the test.
func authorized(t testing.TB, s *webtest.Server, want string) (list []bool) {
	t.Helper()
	for _, req := range s.Requests() {
		got := req.Header.Get("Authorization")
		if got != "" && got != want {
			t.Errorf("%s got Authorization %q", req.URL, got)
		}
		list = append(list, got != "")
	}
	return list
}

// wire is a body that returns data, then waits for its context if stalls is set, and then returns end,
// or io.EOF.
type wire struct {
	ctx    context.Context
	data   io.Reader
	end    error
	stalls bool
}

func (w *wire) Read(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, w.ctx.Err()
	}
	if n, _ := w.data.Read(p); n > 0 {
		return n, nil
	}
	if w.stalls {
		<-w.ctx.Done()
		return 0, w.ctx.Err()
	}
	if w.end != nil {
		return 0, w.end
	}
	return 0, io.EOF
}

func (w *wire) Close() error { return nil }

// sends answers with a body that begins with text and goes on as w says.
func sends(code int, text string, w wire, length int64) handler {
	return func(_ int, r *http.Request) (*http.Response, error) {
		body := w
		body.ctx, body.data = r.Context(), strings.NewReader(text)
		return reply(code, &body, length), nil
	}
}

// client returns a client of s with a token for home. At the end of the test, all bodies must be
// closed.
func client(t testing.TB, s http.RoundTripper) *httpx.Client {
	if s, ok := s.(*webtest.Server); ok {
		t.Cleanup(func() {
			if n, _ := s.Open(); n != 0 {
				t.Errorf("%d bodies were not closed", n)
			}
		})
	}
	return &httpx.Client{HTTP: &http.Client{Transport: s}, Credentials: auth.MustNewToken(secret).For(home)}
}

// get returns a request for a document.
func get(address string) httpx.Request {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	return httpx.Request{URL: u, Limit: 1 << 20}
}

// withToken returns a request for a document, with the token for home.
func withToken(address string) httpx.Request {
	r := get(address)
	r.TokenFor = home
	return r
}

// asks are the two ways to make a request.
var asks = map[string]func(*httpx.Client, context.Context, httpx.Request) error{
	"Get": func(c *httpx.Client, ctx context.Context, r httpx.Request) error {
		_, err := c.Document(ctx, r)
		return err
	},
	"Open": func(c *httpx.Client, ctx context.Context, r httpx.Request) error {
		_, err := c.Open(ctx, r)
		return err
	},
}

// asError returns err as a *failure.RequestError.
func asError(t testing.TB, err error) *failure.RequestError {
	t.Helper()
	e, ok := errors.AsType[*failure.RequestError](err)
	if !ok {
		t.Fatalf("error %v (%T), want a *failure.RequestError", err, err)
	}
	if e.Err == nil {
		t.Fatalf("%v has no cause", err)
	}
	return e
}

// pipes connects a transport to an HTTP server without sockets and TLS, for all hosts, so that both can
// run in a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case p.conns <- b:
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listen serves h until the test ends.
func listen(t testing.TB, h http.Handler) *http.Transport {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	srv := &http.Server{Handler: h}
	go srv.Serve(p)
	tr := &http.Transport{DialTLSContext: p.dial, DialContext: p.dial}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		srv.Close()
	})
	return tr
}

// random returns n pseudorandom bytes.
func random(n int, seed byte) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// same fails the test if got is not want.
func same(t testing.TB, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("got %d bytes that differ from the wanted %d", len(got), len(want))
	}
}

// leaks fails the test if text contains a secret or a control character.
func leaks(t testing.TB, text string) {
	t.Helper()
	for _, s := range []string{secret, "hunter2", "sig-value", "fragment-value", "query-value"} {
		if strings.Contains(text, s) {
			t.Errorf("%q leaks in: %s", s, text)
		}
	}
	for _, r := range text {
		if r < ' ' || r == 0x7f || r == '\u202e' || r == '\u009b' {
			t.Errorf("character %U in: %q", r, text)
		}
	}
}

// file is a server of one file that interrupts the first downloads.
type file struct {
	data   []byte
	etag   string // "": none
	date   string // Last-Modified, "": none
	now    string // Date, "": none
	chunks bool   // no Content-Length, no total

	cuts  []int                                // offset in the file at which the nth answer ends
	how   func(w *wire)                        // changes the body of an interrupted answer; if nil, it ends with a reset
	rest  func(r *http.Request) *http.Response // if not nil, answers all requests after the first
	steps []string                             // "Range|If-Range" of each request
	sent  int                                  // bytes, all answers together
}

func (f *file) headers() []string {
	var h []string
	if f.etag != "" {
		h = append(h, "ETag: "+f.etag)
	}
	if f.date != "" {
		h = append(h, "Last-Modified: "+f.date)
	}
	if f.now != "" {
		h = append(h, "Date: "+f.now)
	}
	return h
}

func (f *file) handler(n int, r *http.Request) (*http.Response, error) {
	f.steps = append(f.steps, r.Header.Get("Range")+"|"+r.Header.Get("If-Range"))
	if n > 0 && f.rest != nil {
		return f.rest(r), nil
	}
	return f.part(n, r), nil
}

// part returns the nth answer: the requested range, up to its cut.
func (f *file) part(n int, r *http.Request) *http.Response {
	from, code, headers := 0, 200, f.headers()
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
		total := fmt.Sprint(len(f.data))
		if f.chunks {
			total = "*"
		}
		headers = append(headers, fmt.Sprintf("Content-Range: bytes %d-%d/%s", from, len(f.data)-1, total))
		code = 206
	}
	length := int64(len(f.data) - from)
	if f.chunks {
		length = -1
	}
	end := len(f.data)
	w := &wire{ctx: r.Context()}
	if n < len(f.cuts) {
		end = max(from, f.cuts[n])
		w.end = errReset
		if f.how != nil {
			w.end = nil
			f.how(w)
		}
	}
	w.data = bytes.NewReader(f.data[from:end])
	f.sent += end - from
	return reply(code, w, length, headers...)
}

// download reads and hashes the body of Open.
func download(t testing.TB, c *httpx.Client, r httpx.Request) (got []byte, sum hash.Hash, b *httpx.Body, err error) {
	t.Helper()
	r.Limit = 0
	b, err = c.Open(t.Context(), r)
	if err != nil {
		return nil, nil, nil, err
	}
	sum = sha256.New()
	got, err = io.ReadAll(io.TeeReader(b, sum))
	if err := b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	return got, sum, b, err
}

const pkg = "https://releases.example.com/pkg.zip"
