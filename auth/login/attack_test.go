package login_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/auth/login"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// dial connects to the port of a login.
func dial(t *testing.T, page string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp4", back(t, page))
	if err != nil {
		t.Error(err) // not Fatal: this can be another goroutine
		conn, _ = net.Pipe()
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

// TestManyConnections checks that the maximum number of connections is served, and that one
// more closes only the oldest.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	for n, lost := range map[int]int{login.MaxConns: 0, login.MaxConns + 1: 1} {
		reg := registry(regtest.Login{})
		c := client(reg)
		c.Open = func(page string) error {
			var list []net.Conn
			for range n {
				list = append(list, dial(t, page))
			}
			if lost > 0 {
				if k, err := list[0].Read(make([]byte, 1)); k > 0 || isTimeout(err) {
					t.Errorf("the oldest of %d: %d bytes, %v", n, k, err)
				}
			}
			for i, conn := range list[lost:] {
				_, _ = io.WriteString(conn, "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
				if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != 421 {
					t.Errorf("connection %d of %d: %v", lost+i+1, n, err)
				}
			}
			return reg.Browse(page)
		}
		mustLogin(t, c)
	}
}

// TestManyConnectionsAfterRedirect checks that the connection of the browser stays open until it has the
// last page.
func TestManyConnectionsAfterRedirect(t *testing.T) {
	t.Parallel()
	reg := registry(regtest.Login{})
	c := client(reg)
	var page string
	c.Transport.HTTP.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodPost {
			for range 2 * login.MaxConns {
				dial(t, page)
			}
			if n, err := dial(t, page).Read(make([]byte, 1)); n > 0 || isTimeout(err) {
				t.Errorf("one connection too many: %d bytes, %v; want it closed", n, err)
			}
		}
		return reg.RoundTrip(req)
	})
	browsed := make(chan error, 1)
	c.Open = func(u string) error {
		page = u
		browsed <- reg.Browse(u)
		return nil
	}
	mustLogin(t, c)
	if err := <-browsed; err != nil {
		t.Errorf("the browser: %v", err)
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// TestLateConnection checks that a connection that arrives while the server closes is closed.
func TestLateConnection(t *testing.T) {
	t.Parallel()
	conn, other := net.Pipe()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	login.Late(other)
	if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("%v, want EOF", err)
	}
}

// TestBodyThatNeverComes checks that a request is answered without waiting for its body.
func TestBodyThatNeverComes(t *testing.T) {
	t.Parallel()
	reg := registry(regtest.Login{})
	c := client(reg)
	c.Open = func(page string) error {
		for _, announced := range []string{"Content-Length: 10", "Content-Length: 1000000000", "Transfer-Encoding: chunked", "Expect: 100-continue\r\nContent-Length: 10"} {
			conn := dial(t, page)
			_, _ = io.WriteString(conn, "POST /login HTTP/1.1\r\nHost: localhost\r\n"+announced+"\r\n\r\n")
			got, err := io.ReadAll(conn)
			if isTimeout(err) || !strings.HasPrefix(string(got), "HTTP/1.1 421 ") {
				t.Errorf("%s: %v, %.100q", announced, err, got)
			}
		}
		return reg.Browse(page)
	}
	mustLogin(t, c)
}

// A panicky store panics.
type panicky struct{ store }

func (*panicky) Save(context.Context, svchost.Hostname, auth.Token) error { panic("a bug") }

// TestStorePanics checks that the port is closed and the browser shows a failure if the Store
// panics.
func TestStorePanics(t *testing.T) {
	t.Parallel()
	reg := registry(regtest.Login{})
	c, browsed := client(reg), make(chan error, 1)
	var address string
	c.Store = &panicky{}
	c.Open = func(page string) error {
		address = back(t, page)
		browsed <- reg.Browse(page)
		return nil
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = c.Login(t.Context(), host)
	}()
	wantNoListener(t, address)
	if err := <-browsed; err == nil {
		t.Error("the browser shows that the login succeeded")
	}
}
