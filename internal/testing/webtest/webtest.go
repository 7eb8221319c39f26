// Package webtest has servers in this process, as transports, for tests of HTTP.
package webtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A Handler answers the nth request, from 0. As a transport, it answers all requests as the first.
type Handler func(n int, r *http.Request) (*http.Response, error)

// RoundTrip calls h.
func (h Handler) RoundTrip(r *http.Request) (*http.Response, error) { return h(0, r) }

// A Server is a transport that answers for all hosts and records the requests.
type Server struct {
	handler Handler

	mu       sync.Mutex
	requests []*http.Request
	times    []time.Time
	open     int // requests whose body is not closed
	most     int // maximum of open
}

// Serve returns a Server that answers each request with the next step, and all others with the last one.
func Serve(steps ...Handler) *Server {
	return &Server{handler: func(n int, r *http.Request) (*http.Response, error) {
		return steps[min(n, len(steps)-1)](n, r)
	}}
}

// RoundTrip answers r, or fails if its context has ended.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	n := len(s.requests)
	s.requests, s.times = append(s.requests, r), append(s.times, time.Now())
	s.open++
	s.most = max(s.most, s.open)
	s.mu.Unlock()
	var resp *http.Response
	err := r.Context().Err()
	if err == nil {
		resp, err = s.handler(n, r)
	}
	if resp == nil || resp.Body == http.NoBody {
		s.done()
		return resp, err
	}
	resp.Request, resp.Body = r, &body{resp.Body, sync.OnceFunc(s.done)}
	return resp, err
}

func (s *Server) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
}

// Requests returns the requests so far.
func (s *Server) Requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.requests...)
}

// Times returns when the requests were made.
func (s *Server) Times() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.times...)
}

// Open returns how many requests have no answer yet or a body that is not closed, and the maximum so far.
func (s *Server) Open() (now, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.most
}

// body is a body that reports Close.
type body struct {
	io.ReadCloser
	closed func()
}

func (b *body) Close() error { b.closed(); return b.ReadCloser.Close() }

// Reply returns a response with headers of the form "Name: value". Headers without a value are left out.
// The length -1 is unknown.
func Reply(status int, body io.ReadCloser, length int64, headers ...string) *http.Response {
	h := make(http.Header)
	for _, line := range headers {
		if name, value, _ := strings.Cut(line, ": "); value != "" {
			h.Add(name, value)
		}
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: body, ContentLength: length,
	}
}

// Status answers with a status, a body and headers of the form "Name: value".
func Status(code int, text string, headers ...string) Handler {
	return func(int, *http.Request) (*http.Response, error) {
		return Reply(code, io.NopCloser(strings.NewReader(text)), int64(len(text)), headers...), nil
	}
}

// Redirect answers with a redirect to a location.
func Redirect(location string) Handler { return Status(http.StatusFound, "", "Location: "+location) }

// Fails answers with an error.
func Fails(err error) Handler {
	return func(int, *http.Request) (*http.Response, error) { return nil, err }
}

// After answers like h after d, or fails when the context ends.
func After(d time.Duration, h Handler) Handler {
	return func(n int, r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(d):
			return h(n, r)
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
	}
}

// Hangs fails when the context has ended.
func Hangs(_ int, r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// Together calls do n times at the same time, with 0 to n-1, and waits for the calls.
func Together(n int, do func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// Bubble runs a parallel subtest in a bubble of synctest.
func Bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
}
