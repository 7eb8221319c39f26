package disco_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/transport"
)

const path = "/.well-known/terraform.json"

var (
	example = svchost.MustParse("example.com")
	other   = svchost.MustParse("other.test")
)

// client returns a client without retries.
func client(s *webtest.Server) *disco.Client {
	return &disco.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: s}, Retries: -1}, Hosts: new(disco.Hosts)}
}

// answer answers with a JSON document.
func answer(status int, text string) webtest.Handler {
	return webtest.Status(status, text, "Content-Type: application/json")
}

// pages answers by URL, and with 404 for other URLs.
func pages(by map[string]webtest.Handler) *webtest.Server {
	return webtest.Serve(func(n int, r *http.Request) (*http.Response, error) {
		if a, ok := by[r.URL.String()]; ok {
			return a(n, r)
		}
		return answer(404, "")(n, r)
	})
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
