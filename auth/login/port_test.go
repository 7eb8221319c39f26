package login_test

import (
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth/login"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// hold listens at n consecutive ports of a loopback address, and returns the first port.
func hold(t *testing.T, address string, n int) int {
	t.Helper()
attempts:
	for range 100 {
		first := 0
		for i := range n {
			port := 0
			if i > 0 {
				port = first + i
			}
			l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
			if err != nil {
				continue attempts
			}
			t.Cleanup(func() { l.Close() })
			first = l.Addr().(*net.TCPAddr).Port - i
		}
		return first
	}
	t.Fatal("no free ports")
	return 0
}

// TestPorts checks that Login skips busy ports, and that it returns a *PortError if all ports
// are busy.
func TestPorts(t *testing.T) {
	t.Parallel()
	first := hold(t, "127.0.0.1", 3)
	c := client(registry(regtest.Login{MinPort: first, MaxPort: first + 2}))
	c.Open = func(string) error { t.Error("opened"); return nil }
	_, err := c.Login(t.Context(), host)
	wantError(t, err)
	if e, ok := errors.AsType[*login.PortError](err); !ok || e.Min != first || e.Max != first+2 || e.Err == nil || !strings.Contains(err.Error(), "no free port") {
		t.Errorf("%v, want a *PortError", err)
	}
	// Some of the next ports can be busy too, but hardly all.
	reg := registry(regtest.Login{MinPort: first, MaxPort: min(first+50, 65535)})
	if _, err := client(reg).Login(t.Context(), host); err != nil && first < 65000 {
		t.Error(err)
	}
}

// TestPortsOfAnother checks that Login skips ports at which another user listens at [::1],
// which can be "localhost" too.
func TestPortsOfAnother(t *testing.T) {
	t.Parallel()
	if l, err := net.Listen("tcp6", "[::1]:0"); err != nil {
		t.Skip("skipped: IPv6 is not installed")
	} else {
		l.Close()
	}
	first := hold(t, "::1", 3)
	c := client(registry(regtest.Login{MinPort: first, MaxPort: first + 2}))
	c.Open = func(string) error { return errors.New("opened") }
	if _, err := c.Login(t.Context(), host); !errors.As(err, new(*login.PortError)) {
		t.Errorf("%v, want a *PortError", err)
	}
	// At a free port, Login listens at both addresses.
	c = client(registry(regtest.Login{}))
	c.Open = func(page string) error {
		_, port, _ := net.SplitHostPort(back(t, page))
		for _, address := range []string{"127.0.0.1", "::1"} {
			conn, err := net.Dial("tcp", net.JoinHostPort(address, port))
			if err != nil {
				t.Errorf("Dial(%s): %v", address, err)
				continue
			}
			conn.Close()
		}
		return errors.New("no browser")
	}
	if _, err := c.Login(t.Context(), host); err == nil || !strings.Contains(err.Error(), "no browser") {
		t.Error(err)
	}
}

// TestNothingLeft checks that the port and all connections are closed after each login, also
// idle connections of the browser.
func TestNothingLeft(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]bool{"good": true, "bad": false} {
		reg := registry(regtest.Login{})
		c := client(reg)
		var idle []net.Conn
		var address string
		c.Open = func(page string) error {
			address = back(t, page)
			for range 5 {
				idle = append(idle, dial(t, page))
			}
			_, _ = io.WriteString(idle[0], "GET /login HTTP/1.1\r\nHost:")
			if !answers {
				return errors.New("no browser")
			}
			return reg.Browse(page)
		}
		if _, err := c.Login(t.Context(), host); (err == nil) != answers {
			t.Errorf("%s: %v", name, err)
		}
		for _, conn := range idle {
			if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
				t.Errorf("%s: a connection is still open", name)
			}
		}
		wantNoListener(t, address)
	}
}
