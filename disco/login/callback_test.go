package login_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/login"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// TestOtherRequests checks that other requests are refused and do not end the login.
func TestOtherRequests(t *testing.T) {
	t.Parallel()
	reg, c := server(regtest.Login{})
	checked := make(chan struct{})
	c.Open = func(page string) error {
		defer close(checked)
		asked := query(t, page)
		back, state := asked.Get("redirect_uri"), asked.Get("state")
		at, port := strings.TrimSuffix(back, "/login"), back[len("http://localhost:"):len(back)-len("/login")]
		right := back + "?code=abc&state=" + state
		tests := map[string]struct {
			method, url, host string
			status            int
		}{
			"another path":         {"GET", at + "/?code=abc&state=" + state, "", 404},
			"below the path":       {"GET", at + "/login/?code=abc&state=" + state, "", 404},
			"path in escapes":      {"GET", at + "/%6cogin?code=abc&state=" + state, "", 404},
			"icon":                 {"GET", at + "/favicon.ico", "", 404},
			"POST":                 {"POST", right, "", 405},
			"HEAD":                 {"HEAD", right, "", 405},
			"OPTIONS":              {"OPTIONS", right, "", 405},
			"rebound name":         {"GET", right, "evil.example.com:" + port, 421},
			"rebound without port": {"GET", right, "evil.example.com", 421},
			"without port":         {"GET", right, "localhost", 421},
			"another port":         {"GET", right, "localhost:1", 421},
			"trailing dot":         {"GET", right, "localhost.:" + port, 421},
			"no state":             {"GET", back + "?code=abc", "", 400},
			"no query":             {"GET", back, "", 400},
			"two states":           {"GET", right + "&state=" + state, "", 400},
			"two codes":            {"GET", right + "&code=def", "", 400},
			"two errors":           {"GET", right + "&error=a&error=b", "", 400},
			"malformed":            {"GET", right + "&%zz", "", 400},
			"another state":        {"GET", back + "?code=abc&state=x", "", 403},
			"an empty state":       {"GET", back + "?code=abc&state=", "", 403},
			"half the state":       {"GET", back + "?code=abc&state=" + state[:13], "", 403},
			"more than the state":  {"GET", right + "x", "", 403},
			"an error, not ours":   {"GET", back + "?error=access_denied&state=x", "", 403},
			"long":                 {"GET", right + strings.Repeat("a", 80<<10), "", 431},
		}
		for name, test := range tests {
			got, body, err := visit(test.method, test.url, test.host)
			if err != nil || got.StatusCode != test.status {
				t.Errorf("%s: %v, %v, want %d", name, got, err, test.status)
			} else if test.status != 431 {
				checkPage(t, got, body)
			}
		}
		if reg.Count(regtest.LoginToken) > 0 {
			t.Errorf("a refused request led to a request for the token: %v", reg.Requests())
		}
		return reg.Browse(page)
	}
	mustLogin(t, c)
	<-checked
}

// checkPage checks the header and the format of a page.
func checkPage(t *testing.T, got *http.Response, body string) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
	} {
		if h := got.Header.Get(name); h != want {
			t.Errorf("%s: %q, want %q", name, h, want)
		}
	}
	if got.Request.Method != http.MethodHead && (!strings.HasPrefix(body, "<!DOCTYPE html>") || !strings.HasSuffix(body, "</html>\n") || len(body) > 2000) {
		t.Errorf("page:\n%s", body)
	}
	if strings.Contains(body, "abc") || strings.Contains(strings.ToLower(body), "<script") {
		t.Errorf("page:\n%s", body)
	}
}

// TestLastPage checks the page that shows the result of a login.
func TestLastPage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault  regtest.Fault
		status int
		text   string
	}{
		"good":    {regtest.Fault{Kind: regtest.Other}, 200, "Logged in"},
		"refused": {set(regtest.LoginToken, "access_token", ""), 502, "Not logged in"},
		"denied":  {set(regtest.LoginAuthz, "error", "access_denied<script>"), 502, "Not logged in"},
	} {
		reg, pages := registry(regtest.Login{}), make(chan string, 2)
		reg.AddFault(test.fault)
		c := client(reg)
		c.Open = func(page string) error {
			resp, err := reg.RoundTrip(httptest.NewRequest("GET", page, nil))
			if err != nil {
				return err
			}
			got, body, err := visit("GET", resp.Header.Get("Location"), "")
			if err != nil || got.StatusCode != test.status {
				t.Errorf("%s: %v, %v, want status %d", name, got, err, test.status)
			} else {
				checkPage(t, got, body)
			}
			pages <- body
			return err
		}
		_, err := c.Login(t.Context(), host)
		if (err == nil) != (test.status == 200) {
			t.Errorf("%s: %v", name, err)
		}
		if page := <-pages; !strings.Contains(page, test.text) || !strings.Contains(page, "registry.example.com") {
			t.Errorf("%s: page\n%s", name, page)
		}
	}
}

// TestSecondAnswer checks that only the first redirect with the right state is accepted.
func TestSecondAnswer(t *testing.T) {
	t.Parallel()
	h, taken := login.Callback("1234", "the-state", host)
	for i, status := range []int{200, 410, 410} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "http://LocalHost:1234/login?state=the-state&code="+string(rune('a'+i)), nil))
		if w.Code != status {
			t.Errorf("answer %d: %d, want %d", i, w.Code, status)
		}
	}
	if code := taken(); code != "a" {
		t.Errorf("code %q", code)
	}
}

// TestPageEscapes checks that names are escaped in the page.
func TestPageEscapes(t *testing.T) {
	t.Parallel()
	h, _ := login.Callback("1234", "s", svchost.MustParse("bücher.example.com"))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1:1234/login?state=s&error=<b>", nil))
	if !strings.Contains(w.Body.String(), "bücher.example.com") || strings.Contains(w.Body.String(), "<b>") {
		t.Errorf("page:\n%s", w.Body)
	}
}

// FuzzCallback checks that only requests with the right state are accepted.
func FuzzCallback(f *testing.F) {
	for _, target := range []string{"/login?state=the-state&code=a", "/login?state=the-state&code=a&state=b", "/login?code=a", "/%6cogin?state=the-state&code=a", "*", "http://evil.example.com/login?state=the-state&code=a"} {
		f.Add("GET", target, "localhost:1234")
	}
	f.Add("POST", "/login?state=the-state&code=a", "evil.example.com")
	f.Fuzz(func(t *testing.T, method, target, asked string) {
		req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(method + " " + target + " HTTP/1.1\r\nHost: " + asked + "\r\n\r\n")))
		if err != nil {
			return
		}
		h, taken := login.Callback("1234", "the-state", host)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		code := taken()
		good := w.Code == http.StatusOK
		values := req.URL.Query()
		if good && (req.Method != "GET" || req.URL.Path != "/login" || values.Get("state") != "the-state" || len(values["state"]) != 1 ||
			!strings.EqualFold(req.Host, "localhost:1234") && req.Host != "127.0.0.1:1234") || !good && code != "" {
			t.Errorf("%s %s at %s: %d, code %q", req.Method, req.RequestURI, req.Host, w.Code, code)
		}
		if body := w.Body.String(); !strings.HasSuffix(body, "</html>\n") || len(body) > 2000 {
			t.Errorf("page:\n%s", body)
		}
	})
}

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
		reg, c := server(regtest.Login{})
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
	reg, c := server(regtest.Login{})
	var page string
	c.Transport.HTTP.Transport = webtest.Handler(func(_ int, req *http.Request) (*http.Response, error) {
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
	reg, c := server(regtest.Login{})
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
	reg, c := server(regtest.Login{})
	browsed := make(chan error, 1)
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
