package httpx_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/must"
)

// secret is the token. It must not be in any text.
const secret = "s3cr3t-t0ken"

var (
	home     = svchost.MustParse("registry.example.com")
	errReset = errors.New("connection reset by peer")
)

// handler answers the nth request, from 0.
type handler func(n int, r *http.Request) (*http.Response, error)

// server is a server in this process, as a transport, for all hosts.
type server struct {
	handle handler

	mu       sync.Mutex
	requests []*http.Request
	open     atomic.Int32 // bodies that were not closed
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	resp, err := s.handle(n, r)
	if resp != nil {
		resp.Request = r
		s.open.Add(1)
		resp.Body = &counted{resp.Body, sync.OnceFunc(func() { s.open.Add(-1) })}
	}
	return resp, err
}

// counted is a body that reports Close.
type counted struct {
	io.ReadCloser
	closed func()
}

func (c *counted) Close() error { c.closed(); return c.ReadCloser.Close() }

// seen returns the requests so far.
func (s *server) seen() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.requests...)
}

// serve answers each request with the next step, and all others with the last one.
func serve(steps ...handler) *server {
	return &server{handle: func(n int, r *http.Request) (*http.Response, error) {
		return steps[min(n, len(steps)-1)](n, r)
	}}
}

// status answers with a status, a body and headers of the form "Name: value".
func status(code int, text string, headers ...string) handler {
	return func(_ int, r *http.Request) (*http.Response, error) {
		return reply(code, io.NopCloser(strings.NewReader(text)), int64(len(text)), headers...), nil
	}
}

// fails answers with an error.
func fails(err error) handler {
	return func(int, *http.Request) (*http.Response, error) { return nil, err }
}

// hangs fails when the context has ended.
func hangs(_ int, r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// hops redirects each request to the next location, and answers the last one.
func hops(code int, locations []string) *server {
	return serve(func(n int, r *http.Request) (*http.Response, error) {
		if n < len(locations) {
			return status(code, "moved", "Location: "+locations[n])(n, r)
		}
		return status(200, "")(n, r)
	})
}

// authorized reports for each request whether it had the Authorization header want. Any
// other one fails the test.
func (s *server) authorized(t testing.TB, want string) (list []bool) {
	t.Helper()
	for _, req := range s.seen() {
		got := req.Header.Get("Authorization")
		if got != "" && got != want {
			t.Errorf("%s got Authorization %q", req.URL, got)
		}
		list = append(list, got != "")
	}
	return list
}

// redirect answers with a redirect to a location.
func redirect(location string) handler { return status(http.StatusFound, "", "Location: "+location) }

func reply(code int, body io.ReadCloser, length int64, headers ...string) *http.Response {
	h := make(http.Header)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return &http.Response{
		StatusCode: code, Status: fmt.Sprint(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: body, ContentLength: length,
	}
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

// client returns a client of s with a token for home. At the end of the test, all bodies must be
// closed.
func client(t testing.TB, s http.RoundTripper) *httpx.Client {
	if s, ok := s.(*server); ok {
		t.Cleanup(func() {
			if n := s.open.Load(); n != 0 {
				t.Errorf("%d bodies were not closed", n)
			}
		})
	}
	return &httpx.Client{HTTP: &http.Client{Transport: s}, Credentials: tokens(t)}
}

func tokens(t testing.TB) auth.Source {
	t.Helper()
	token := must.Get(auth.NewToken(secret))(t)
	return auth.Static(map[svchost.Hostname]auth.Token{home: token})
}

// get returns a request for a document.
func get(address string) httpx.Request {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	return httpx.Request{URL: u, Limit: 1 << 20}
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
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
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

// bubble runs a parallel subtest in a bubble of synctest.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
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
