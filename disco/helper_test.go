package disco_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/transport"
)

const path = "/.well-known/terraform.json"

var (
	example = svchost.MustParse("example.com")
	other   = svchost.MustParse("other.test")
)

// world is a transport that answers for all hosts and records the requests.
type world struct {
	delay  time.Duration
	answer func(r *http.Request) answer

	mu       sync.Mutex
	requests []*http.Request
}

type answer struct {
	status int         // 0 is 200
	header http.Header // nil is Content-Type: application/json
	body   string
	err    error
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.requests = append(w.requests, r)
	w.mu.Unlock()
	if w.delay > 0 {
		select {
		case <-time.After(w.delay):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	a := w.answer(r)
	if a.err != nil {
		return nil, a.err
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if a.header == nil {
		a.header = http.Header{"Content-Type": {"application/json"}}
	}
	return &http.Response{
		StatusCode: a.status, Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(strings.NewReader(a.body)), ContentLength: -1, Request: r,
	}, nil
}

func (w *world) seen() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

// client returns a client without retries.
func (w *world) client() *disco.Client {
	return &disco.Client{Transport: &transport.Client{HTTP: &http.Client{Transport: w}, Retries: -1}, Hosts: new(disco.Hosts)}
}

func always(a answer) *world { return &world{answer: func(*http.Request) answer { return a }} }

func redirect(to string) answer {
	return answer{status: http.StatusFound, header: http.Header{"Location": {to}}}
}

// pages answers by URL, and with 404 for other URLs.
func pages(by map[string]answer) *world {
	return &world{answer: func(r *http.Request) answer {
		if a, ok := by[r.URL.String()]; ok {
			return a
		}
		return answer{status: http.StatusNotFound}
	}}
}

func tokens(t testing.TB, of map[svchost.Hostname]string) auth.Source {
	t.Helper()
	all := map[svchost.Hostname]auth.Token{}
	for host, secret := range of {
		token := must.Get(auth.NewToken(secret))(t)
		all[host] = token
	}
	return auth.Static(all)
}

func discover(t testing.TB, c *disco.Client, host svchost.Hostname) *disco.Services {
	t.Helper()
	return must.Get(c.Discover(context.Background(), host))(t)
}

// wantURL fails the test unless the service has this URL. If it is empty, URL must fail.
func wantURL(t testing.TB, s *disco.Services, id disco.Service, want string) {
	t.Helper()
	u, err := s.URL(id)
	if err != nil {
		if want != "" {
			t.Errorf("URL(%s): %v", id, err)
		}
		return
	}
	if u.String() != want {
		t.Errorf("URL(%s) = %s, want %q", id, u, want)
	}
}

// hostOf returns the host that errors of the services name.
func hostOf(s *disco.Services) svchost.Hostname {
	_, err := s.URL("missing.v1")
	if e, ok := errors.AsType[*disco.ServiceError](err); ok {
		return e.Host
	}
	return svchost.Hostname{}
}

// failed returns the subject of a *failure.Error and the request at which it failed. It is false for
// other errors.
func failed(err error) (subject string, request failure.RequestError, ok bool) {
	e, ok := err.(*failure.Error)
	if !ok {
		return "", request, false
	}
	if r, ok := errors.AsType[*failure.RequestError](e); ok {
		request = *r
	}
	return e.Subject, request, true
}
