package login_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/testkit/regtest"
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

// TestPorts checks that Login skips busy ports, and that it names the ports if all are busy.
func TestPorts(t *testing.T) {
	t.Parallel()
	first := hold(t, "127.0.0.1", 3)
	_, c := server(regtest.Login{MinPort: first, MaxPort: first + 2})
	c.Open = func(string) error { t.Error("opened"); return nil }
	_, err := c.Login(t.Context(), host)
	wantError(t, err)
	if want := fmt.Sprintf("no free port from %d to %d for the redirect of the browser: ", first, first+2); !strings.Contains(err.Error(), want) || !errors.As(err, new(*net.OpError)) {
		t.Errorf("Login with busy ports: %v, want %q and the error of a port", err, want)
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
	_, c := server(regtest.Login{MinPort: first, MaxPort: first + 2})
	c.Open = func(string) error { return errors.New("opened") }
	if _, err := c.Login(t.Context(), host); err == nil || !strings.Contains(err.Error(), "no free port") {
		t.Errorf("Login: %v, want no free port", err)
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
		reg, c := server(regtest.Login{})
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

// TestOpenFails checks that an error of Open ends the login, without the URL in its text.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	errNone := errors.New("no browser")
	_, c := server(regtest.Login{})
	var page string
	c.Open = func(u string) error {
		page = u
		return errors.Join(errNone, &url.Error{Op: "open", URL: u, Err: errors.New(u)})
	}
	_, err := c.Login(t.Context(), host)
	wantError(t, err)
	if !errors.Is(err, errNone) || strings.Contains(err.Error(), query(t, page).Get("state")) || !strings.Contains(err.Error(), "no browser") {
		t.Errorf("%v", err)
	}
}

// TestOpenTakesItsTime checks that Login does not wait for Open, and ignores its late error.
func TestOpenTakesItsTime(t *testing.T) {
	t.Parallel()
	reg, release := registry(regtest.Login{}), make(chan struct{})
	c := client(reg)
	c.Open = func(page string) error {
		_ = reg.Browse(page)
		<-release
		return errors.New("too late")
	}
	_, err := c.Login(t.Context(), host)
	close(release)
	if err != nil {
		t.Error(err)
	}
}

// TestNobodyAnswers checks that the wait ends with Timeout or the context, and that the error
// mentions refused requests.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	errCause := errors.New("the program ends")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	deadline, stop := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer stop()
	for name, test := range map[string]struct {
		ctx     context.Context
		timeout time.Duration
		is      []error
		text    string
	}{
		"timeout":  {t.Context(), time.Millisecond, []error{os.ErrDeadlineExceeded}, "no redirect of the browser within 1ms"},
		"cancel":   {ctx, -1, []error{context.Canceled, errCause}, "the program ends"},
		"deadline": {deadline, 0, []error{context.DeadlineExceeded}, "deadline"},
	} {
		_, c := server(regtest.Login{})
		c.Timeout = test.timeout
		c.Open = func(page string) error {
			if name == "cancel" {
				asked := query(t, page)
				for _, state := range []string{"x", "y"} {
					if _, _, err := visit("GET", asked.Get("redirect_uri")+"?code=abc&state="+state, ""); err != nil {
						t.Error(err)
					}
				}
				cancel(errCause)
			}
			return nil
		}
		_, err := c.Login(test.ctx, host)
		wantError(t, err)
		for _, want := range test.is {
			if !errors.Is(err, want) {
				t.Errorf("%s: %v is not %v", name, err, want)
			}
		}
		if !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "of another login: 2)") != (name == "cancel") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExchangeIsCancelled cancels the context during the request to the token endpoint.
func TestExchangeIsCancelled(t *testing.T) {
	t.Parallel()
	errCause := errors.New("the program ends")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	reg, c := server(regtest.Login{})
	c.Transport.HTTP.Transport = webtest.Handler(func(_ int, req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodPost {
			cancel(errCause)
			<-req.Context().Done()
			return nil, req.Context().Err()
		}
		return reg.RoundTrip(req)
	})
	_, err := c.Login(ctx, host)
	if wantError(t, err); !errors.Is(err, context.Canceled) || !errors.Is(err, errCause) {
		t.Error(err)
	}
}
