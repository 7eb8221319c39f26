package login_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/auth/login"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestStrays: what is no answer to this login is refused and changes nothing; the answer
// is taken after it, and once.
func TestStrays(t *testing.T) {
	t.Parallel()
	reg := registry(regtest.Login{})
	c := client(reg)
	checked := make(chan struct{})
	c.Open = func(page string) error {
		defer close(checked)
		asked := query(t, page)
		back, state := asked.Get("redirect_uri"), asked.Get("state")
		at, port := strings.TrimSuffix(back, "/login"), back[len("http://localhost:"):len(back)-len("/login")]
		right := back + "?code=abc&state=" + state
		tests := map[string]struct {
			visit  visit
			status int
		}{
			"another path":         {visit{"GET", at + "/?code=abc&state=" + state, ""}, 404},
			"below the path":       {visit{"GET", at + "/login/?code=abc&state=" + state, ""}, 404},
			"path in escapes":      {visit{"GET", at + "/%6cogin?code=abc&state=" + state, ""}, 404},
			"icon":                 {visit{"GET", at + "/favicon.ico", ""}, 404},
			"POST":                 {visit{"POST", right, ""}, 405},
			"HEAD":                 {visit{"HEAD", right, ""}, 405},
			"OPTIONS":              {visit{"OPTIONS", right, ""}, 405},
			"rebound name":         {visit{"GET", right, "evil.example.com:" + port}, 421},
			"rebound without port": {visit{"GET", right, "evil.example.com"}, 421},
			"without port":         {visit{"GET", right, "localhost"}, 421},
			"another port":         {visit{"GET", right, "localhost:1"}, 421},
			"trailing dot":         {visit{"GET", right, "localhost.:" + port}, 421},
			"no state":             {visit{"GET", back + "?code=abc", ""}, 400},
			"no query":             {visit{"GET", back, ""}, 400},
			"two states":           {visit{"GET", right + "&state=" + state, ""}, 400},
			"two codes":            {visit{"GET", right + "&code=def", ""}, 400},
			"two errors":           {visit{"GET", right + "&error=a&error=b", ""}, 400},
			"malformed":            {visit{"GET", right + "&%zz", ""}, 400},
			"another state":        {visit{"GET", back + "?code=abc&state=x", ""}, 403},
			"an empty state":       {visit{"GET", back + "?code=abc&state=", ""}, 403},
			"half the state":       {visit{"GET", back + "?code=abc&state=" + state[:13], ""}, 403},
			"more than the state":  {visit{"GET", right + "x", ""}, 403},
			"an error, not ours":   {visit{"GET", back + "?error=access_denied&state=x", ""}, 403},
			"endless":              {visit{"GET", right + strings.Repeat("a", 80<<10), ""}, 431},
		}
		for name, test := range tests {
			got, err := test.visit.pay()
			if err != nil || got.StatusCode != test.status {
				t.Errorf("%s: %v, %v, want %d", name, got.Response, err, test.status)
			} else if test.status != 431 {
				checkPage(t, got)
			}
		}
		if reg.Count(regtest.LoginToken) > 0 {
			t.Errorf("one of them was taken for the answer: %v", reg.Requests())
		}
		return reg.Browse(page)
	}
	if _, err := c.Login(t.Context(), host); err != nil {
		t.Error(err)
	}
	<-checked
}

// checkPage checks what each page has in its header, and its form.
func checkPage(t *testing.T, got answer) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
	} {
		if h := got.Header.Get(name); h != want {
			t.Errorf("%s: %q, want %q", name, h, want)
		}
	}
	if got.Request.Method != http.MethodHead && (!strings.HasPrefix(got.body, "<!DOCTYPE html>") || !strings.HasSuffix(got.body, "</html>\n") || len(got.body) > 2000) {
		t.Errorf("page:\n%s", got.body)
	}
	if strings.Contains(got.body, "abc") || strings.Contains(strings.ToLower(got.body), "<script") {
		t.Errorf("page:\n%s", got.body)
	}
}

// TestLastPage: the browser is told how the login ended, when it has, and whoever comes
// second gets nothing.
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
		reg, pages := registry(regtest.Login{}), make(chan answer, 2)
		reg.AddFault(test.fault)
		c := client(reg)
		c.Open = func(page string) error {
			resp, err := reg.RoundTrip(httptest.NewRequest("GET", page, nil))
			if err != nil {
				return err
			}
			got, err := visit{"GET", resp.Header.Get("Location"), ""}.pay()
			pages <- got
			return err
		}
		_, err := c.Login(t.Context(), host)
		if (err == nil) != (test.status == 200) {
			t.Errorf("%s: %v", name, err)
		}
		got := <-pages
		checkPage(t, got)
		if got.StatusCode != test.status || !strings.Contains(got.body, test.text) || !strings.Contains(got.body, "registry.example.com") {
			t.Errorf("%s: %v\n%s", name, got.Status, got.body)
		}
	}
}

// TestSecondAnswer: an answer is taken once, also if the second one is as right.
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

// TestPageEscapes: a name is text in the page, whatever it is.
func TestPageEscapes(t *testing.T) {
	t.Parallel()
	h, _ := login.Callback("1234", "s", svchost.MustParse("bücher.example.com"))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1:1234/login?state=s&error=<b>", nil))
	if !strings.Contains(w.Body.String(), "bücher.example.com") || strings.Contains(w.Body.String(), "<b>") {
		t.Errorf("page:\n%s", w.Body)
	}
}

// TestOpenIsGivenAnAddress: what a host puts into the address of its page is kept, and
// can be printed.
func TestOpenIsGivenAnAddress(t *testing.T) {
	t.Parallel()
	reg := regtest.New(host.String())
	reg.Services = map[string]any{"login.v1": map[string]any{"client": "x", "authz": "https://SSO.example.net/ä b?x=\u202e'$(a)&y=%2F#f", "token": "/t"}}
	errSeen := errors.New("seen")
	c := client(reg)
	c.Open = func(page string) error {
		if want := "https://sso.example.net/%C3%A4%20b?x=%E2%80%AE%27$(a)&y=%2F&client_id=x&"; !strings.HasPrefix(page, want) {
			t.Errorf("opened %s, want %s", page, want)
		}
		if strings.ContainsFunc(page, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			t.Errorf("opened %q", page)
		}
		return errSeen
	}
	if _, err := c.Login(t.Context(), host); !errors.Is(err, errSeen) {
		t.Error(err)
	}
}

// TestOpenFails: an error ends the login, and does not show the address of the page.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	errNone := errors.New("no browser")
	c := client(registry(regtest.Login{}))
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

// TestOpenTakesItsTime: the login does not wait for an Open that returns when the browser
// is closed, and what it says then does not count.
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

// TestNobodyAnswers: the wait ends with Timeout or the context, and the error tells of
// answers to other logins.
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
		"timeout":  {t.Context(), time.Millisecond, []error{context.DeadlineExceeded}, "no answer came from the browser within 1ms"},
		"cancel":   {ctx, -1, []error{context.Canceled, errCause}, "the program ends"},
		"deadline": {deadline, 0, []error{context.DeadlineExceeded}, "deadline"},
	} {
		c := client(registry(regtest.Login{}))
		c.Timeout = test.timeout
		c.Open = func(page string) error {
			if name == "cancel" {
				asked := query(t, page)
				for _, state := range []string{"x", "y"} {
					if _, err := (visit{"GET", asked.Get("redirect_uri") + "?code=abc&state=" + state, ""}).pay(); err != nil {
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
		if !strings.Contains(err.Error(), test.text) || strings.HasSuffix(err.Error(), "which were refused: 2") != (name == "cancel") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExchangeIsCancelled: the context ends while the token endpoint thinks.
func TestExchangeIsCancelled(t *testing.T) {
	t.Parallel()
	errCause := errors.New("the program ends")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	reg := registry(regtest.Login{})
	c := client(reg)
	c.HTTP.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
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

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// hold takes n ports of the loopback interface that follow each other, and returns the
// first.
func hold(t *testing.T, n int) int {
	t.Helper()
	for range 100 {
		var list []net.Listener
		first := 0
		for i := range n {
			address := "127.0.0.1:0"
			if i > 0 {
				address = (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: first + i}).String()
			}
			l, err := net.Listen("tcp4", address)
			if err != nil {
				break
			}
			list = append(list, l)
			first = list[0].Addr().(*net.TCPAddr).Port
		}
		if len(list) == n {
			t.Cleanup(func() {
				for _, l := range list {
					l.Close()
				}
			})
			return first
		}
		for _, l := range list {
			l.Close()
		}
	}
	t.Fatal("no free ports")
	return 0
}

// TestPorts: a port that is busy is passed over, and if all are, that is an error of its
// own.
func TestPorts(t *testing.T) {
	t.Parallel()
	first := hold(t, 3)
	c := client(registry(regtest.Login{MinPort: first, MaxPort: first + 2}))
	c.Open = func(string) error { t.Error("opened"); return nil }
	_, err := c.Login(t.Context(), host)
	wantError(t, err)
	if e, ok := errors.AsType[*login.PortError](err); !ok || e.Min != first || e.Max != first+2 || e.Err == nil || !strings.Contains(err.Error(), "none is free") {
		t.Errorf("%v, want a *PortError", err)
	}
	// The next few ports may be anybody's, but hardly all.
	reg := registry(regtest.Login{MinPort: first, MaxPort: min(first+50, 65535)})
	if _, err := client(reg).Login(t.Context(), host); err != nil && first < 65000 {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.Discovery = cancelling{&disco.Client{HTTP: c.HTTP}, cancel}
	if _, err := c.Login(ctx, host); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want Canceled", err)
	}
}

// cancelling is a Discoverer that cancels a context when it knows the answer.
type cancelling struct {
	*disco.Client
	cancel func()
}

func (d cancelling) Discover(ctx context.Context, host svchost.Hostname) (*disco.Services, error) {
	defer d.cancel()
	return d.Client.Discover(ctx, host)
}

// TestNothingLeft: after each login, good or bad, nobody listens and no connection is
// open, also none of those that browsers make in advance.
func TestNothingLeft(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]bool{"good": true, "bad": false} {
		reg := registry(regtest.Login{})
		c := client(reg)
		var idle []net.Conn
		var address string
		c.Open = func(page string) error {
			back, _ := url.Parse(query(t, page).Get("redirect_uri"))
			address = "127.0.0.1:" + back.Port()
			for range 5 {
				conn, err := net.Dial("tcp4", address)
				if err != nil {
					t.Error(err)
					continue
				}
				idle = append(idle, conn)
			}
			if len(idle) > 0 {
				_, _ = io.WriteString(idle[0], "GET /login HTTP/1.1\r\nHost:")
			}
			if !answers {
				return errors.New("no browser")
			}
			return reg.Browse(page)
		}
		if _, err := c.Login(t.Context(), host); (err == nil) != answers {
			t.Errorf("%s: %v", name, err)
		}
		for _, conn := range idle {
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			_, err := io.Copy(io.Discard, conn)
			if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
				t.Errorf("%s: a connection is still open", name)
			}
			conn.Close()
		}
		if conn, err := net.Dial("tcp4", address); err == nil {
			conn.Close()
			t.Errorf("%s: somebody listens", name)
		}
	}
}

// TestConnectionLimit: the connection one too many is closed, and gives way to others
// when those before have gone.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	reg := registry(regtest.Login{})
	c := client(reg)
	checked := make(chan struct{})
	c.Open = func(page string) error {
		defer close(checked)
		back, _ := url.Parse(query(t, page).Get("redirect_uri"))
		var list []net.Conn
		for i := range login.MaxConns + 1 {
			conn, err := net.Dial("tcp4", "127.0.0.1:"+back.Port())
			if err != nil {
				return err
			}
			defer conn.Close()
			if i < login.MaxConns {
				list = append(list, conn)
				continue
			}
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			if n, err := conn.Read(make([]byte, 1)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("connection %d: %d bytes, %v", i+1, n, err)
			}
		}
		for i, conn := range list {
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(conn, "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
			if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != 421 {
				t.Errorf("connection %d: %v", i+1, err)
			}
			_, _ = io.Copy(io.Discard, conn)
		}
		return reg.Browse(page)
	}
	if _, err := c.Login(t.Context(), host); err != nil {
		t.Error(err)
	}
	<-checked
}

// FuzzCallback: no request at the port is taken for the answer but one with the state.
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
