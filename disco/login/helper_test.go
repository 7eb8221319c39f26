package login_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/login"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// secret is the token of the identity server in these tests.
const secret = "s3cr3t-t0ken"

var host = svchost.MustParse("registry.example.com")

// registry returns a registry with an identity server.
func registry(l regtest.Login) *regtest.Registry {
	reg := regtest.New(host.String())
	l.Token = secret
	reg.Login = &l
	return reg
}

// client returns a client for reg whose Open plays the user.
func client(reg *regtest.Registry) *login.Client {
	return &login.Client{Transport: &transport.Settings{HTTP: reg.Client()}, Open: reg.Browse}
}

// server returns a registry with an identity server, and its client.
func server(l regtest.Login) (*regtest.Registry, *login.Client) {
	reg := registry(l)
	return reg, client(reg)
}

// mustLogin logs in to host.
func mustLogin(t *testing.T, c *login.Client) *login.Result {
	t.Helper()
	return must.Get(c.Login(t.Context(), host))(t)
}

// back returns the address to which the browser of a page comes back, as HOST:PORT.
func back(t testing.TB, page string) string {
	t.Helper()
	u, err := url.Parse(query(t, page).Get("redirect_uri"))
	if err != nil || u.Hostname() != "localhost" {
		t.Errorf("the browser comes back to %s, %v", u, err)
	}
	return "127.0.0.1:" + u.Port()
}

// wantNoListener checks that the port is closed.
func wantNoListener(t *testing.T, address string) {
	t.Helper()
	if conn, err := net.Dial("tcp4", address); err == nil {
		conn.Close()
		t.Errorf("%s still accepts connections", address)
	}
}

// store is an auth.Store in memory.
type store struct {
	mu     sync.Mutex
	tokens map[svchost.Hostname]string
	err    error // of Save and Forget
}

func (s *store) Token(context.Context, svchost.Hostname) (auth.Token, error) {
	return auth.Token{}, errors.New("unexpected call of Token")
}

func (s *store) Save(_ context.Context, host svchost.Hostname, token auth.Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.tokens == nil {
		s.tokens = map[svchost.Hostname]string{}
	}
	s.tokens[host] = token.Reveal()
	return nil
}

func (s *store) Forget(_ context.Context, host svchost.Hostname) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, host)
	return s.err
}

// wantError checks that err is a *failure.Error with a printable text.
func wantError(t testing.TB, err error) *failure.Error {
	t.Helper()
	e, ok := err.(*failure.Error)
	if !ok {
		t.Fatalf("error %v (%T), want a *failure.Error", err, err)
	}
	if e.Err == nil || e.Op == "" || !strings.HasPrefix(err.Error(), e.Op) || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e }) {
		t.Errorf("error %+v: %q", e, err)
	}
	return e
}

// one returns the only request of a kind.
func one(t testing.TB, reg *regtest.Registry, kind regtest.Kind) regtest.Request {
	t.Helper()
	found := slices.DeleteFunc(reg.Requests(), func(q regtest.Request) bool { return q.Kind != kind })
	if len(found) != 1 {
		t.Fatalf("%d requests of the kind %v, want 1: %v", len(found), kind, found)
	}
	return found[0]
}

// query returns the parameters of the address of a page.
func query(t testing.TB, address string) url.Values {
	t.Helper()
	return must.Get(url.Parse(address))(t).Query()
}

// visit makes a request at the port. If asked is not empty, it is the Host header. The body of the answer is read.
func visit(method, url, asked string) (*http.Response, string, error) {
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		return nil, "", err
	}
	req.Host = asked
	rt := &http.Transport{DisableKeepAlives: true}
	defer rt.CloseIdleConnections()
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}
