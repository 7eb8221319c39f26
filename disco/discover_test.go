package disco_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/webtest"
)

func TestRequest(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"example.com":      "https://example.com" + path,
		"EXAMPLE.com:443":  "https://example.com" + path,
		"example.com:8443": "https://example.com:8443" + path,
		"Bücher.example":   "https://xn--bcher-kva.example" + path,
		"127.0.0.1:9":      "https://127.0.0.1:9" + path,
	} {
		w := webtest.Serve(answer(200, `{}`))
		c := client(w)
		c.Transport.UserAgent = "checker/1.0"
		discover(t, c, svchost.MustParse(host))
		r := w.Requests()[0]
		if r.Method != http.MethodGet || r.URL.String() != want {
			t.Errorf("%s: %s %s, want %s", host, r.Method, r.URL, want)
		}
		if r.Header.Get("Accept") != "application/json" || r.Header.Get("User-Agent") != "checker/1.0" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s: headers %v", host, r.Header)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 404} {
		w := webtest.Serve(answer(status, `{}`))
		c := client(w)
		for range 2 {
			s := discover(t, c, example)
			if len(s.IDs()) != 0 || hostOf(s) != example {
				t.Errorf("status %d: %v at %s", status, s.IDs(), hostOf(s))
			}
			if _, err := s.URL(disco.ModulesV1); !errors.Is(err, disco.ErrNoService) {
				t.Errorf("status %d: %v", status, err)
			}
		}
		if n := len(w.Requests()); n != 1 {
			t.Errorf("status %d: %d requests for two calls", status, n)
		}
	}
	for _, status := range []int{201, 202, 203, 204, 206, 304, 400, 401, 402, 403, 405, 406, 410, 418, 429, 451, 500, 501, 502, 503, 504, 599} {
		w := webtest.Serve(answer(status, `{}`))
		c := client(w)
		for range 2 {
			s, err := c.Discover(t.Context(), example)
			subject, request, ok := failed(err)
			if s != nil || !ok || subject != "example.com" || request.Status != status || request.URL != "https://example.com"+path || request.Attempts != 1 {
				t.Fatalf("status %d: %v, %+v: %v", status, s, request, err)
			}
			if errors.Is(err, disco.ErrNoService) || errors.Is(err, disco.ErrServiceVersion) {
				t.Errorf("status %d looks like a host without the service: %v", status, err)
			}
			if errors.Is(err, failure.ErrUnauthorized) != (status == 401 || status == 403) {
				t.Errorf("status %d: ErrUnauthorized is wrong: %v", status, err)
			}
			for _, part := range []string{"example.com", request.URL, fmt.Sprint(status)} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("status %d: the error lacks %q: %v", status, part, err)
				}
			}
		}
		if n := len(w.Requests()); n != 2 {
			t.Errorf("status %d: %d requests for two calls, a failure was kept", status, n)
		}
	}
}

func TestMediaType(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct {
		Value string
		Good  bool
	}](t, "media-types.txt") {
		_, err := client(webtest.Serve(webtest.Status(200, `{}`, "Content-Type: "+test.Value))).Discover(t.Context(), example)
		if test.Good != (err == nil) {
			t.Errorf("%q: %v", test.Value, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "media type") || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 500) {
			t.Errorf("%q: text %q", test.Value, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	hop := func(i int) string { return fmt.Sprintf("https://hop%d.test/d?n=%d", i, i) }
	for hops := range 8 {
		by := map[string]webtest.Handler{}
		from := "https://example.com" + path
		for i := range hops {
			by[from] = webtest.Status([]int{301, 302, 303, 307, 308}[i%5], "", "Location: "+hop(i))
			from = hop(i)
		}
		by[from] = answer(200, `{"modules.v1":"m/"}`)
		w := pages(by)
		s, err := client(w).Discover(t.Context(), example)
		if hops > 5 {
			if _, _, ok := failed(err); !ok || len(w.Requests()) != 6 {
				t.Errorf("%d redirects: %v after %d requests", hops, err, len(w.Requests()))
			}
			continue
		}
		if err != nil {
			t.Errorf("%d redirects: %v", hops, err)
			continue
		}
		want := "https://example.com/.well-known/m/"
		if hops > 0 {
			want = fmt.Sprintf("https://hop%d.test/m/", hops-1)
		}
		wantURL(t, s, disco.ModulesV1, want)
		if hostOf(s) != example || s.TokenHost() != example {
			t.Errorf("%d redirects changed the host: %s, %s", hops, hostOf(s), s.TokenHost())
		}
		for i, r := range w.Requests() {
			if r.Method != http.MethodGet || r.Header.Get("Accept") != "application/json" || r.Header.Get("Referer") != "" {
				t.Errorf("hop %d: %s, headers %v", i, r.Method, r.Header)
			}
		}
	}
}

func TestRedirectsRefused(t *testing.T) {
	t.Parallel()
	for _, to := range []string{
		"http://example.com/d", "http://other.test/d", "https://user:hunter2@other.test/d",
		"file:///etc/passwd", "ftp://example.com/d", "javascript:alert(1)", "https:///d", "https://other.test:99999/d", "%zz",
		"https://example.com" + path, // a loop
	} {
		s, err := client(pages(map[string]webtest.Handler{
			"https://example.com" + path: webtest.Redirect(to), "http://example.com/d": answer(200, `{}`), "http://other.test/d": answer(200, `{}`),
		})).Discover(t.Context(), example)
		if subject, _, _ := failed(err); s != nil || subject != "example.com" || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, %v", to, s, err)
		}
		if strings.HasPrefix(to, "http:") && (!errors.Is(err, failure.ErrInsecure) || !strings.Contains(err.Error(), "AllowHTTP")) {
			t.Errorf("%s: %v", to, err)
		}
	}
}

func TestAllowHTTP(t *testing.T) {
	t.Parallel()
	w := pages(map[string]webtest.Handler{
		"https://example.com" + path: webtest.Redirect("http://plain.test/d"),
		"http://plain.test/d":        answer(200, `{"modules.v1":"/m/","providers.v1":"http://else.test/p/"}`),
	})
	c := client(w)
	c.Transport.AllowHTTP = true
	c.Transport.Credentials = auth.MustNewToken("secret").For(example)
	s := discover(t, c, example)
	wantURL(t, s, disco.ModulesV1, "http://plain.test/m/")
	wantURL(t, s, disco.ProvidersV1, "http://else.test/p/")
	if hostOf(s) != example || !s.TokenHost().IsZero() {
		t.Errorf("services of %s from http may get the token of %q, want of no host", hostOf(s), s.TokenHost())
	}
	first, second := w.Requests()[0], w.Requests()[1]
	if first.URL.Scheme != "https" || first.Header.Get("Authorization") != "Bearer secret" || second.Header.Get("Authorization") != "" {
		t.Errorf("%s with %v, then %s with %v", first.URL, first.Header, second.URL, second.Header)
	}
}

// TestServicesOverHTTP: services that were learned over http at any hop get no token and no login,
// even if all their URLs are https.
func TestServicesOverHTTP(t *testing.T) {
	t.Parallel()
	for last, insecure := range map[string]bool{"https://plain.test/d": false, "http://plain.test/d": true, "http://plain.test/hop": true} {
		w := pages(map[string]webtest.Handler{
			"https://example.com" + path: webtest.Redirect(last),
			"http://plain.test/hop":      webtest.Redirect("https://plain.test/d"),
			"https://plain.test/d":       answer(200, `{"login.v1":{"client":"x","authz":"/a","token":"/t"}}`),
			"http://plain.test/d":        answer(200, `{"login.v1":{"client":"x","authz":"https://example.com/a","token":"https://example.com/t"}}`),
		})
		c := client(w)
		c.Transport.AllowHTTP = true
		for range 2 { // the second time from the cache
			s := discover(t, c, example)
			_, err := s.OAuthClient()
			if s.TokenHost().IsZero() != insecure || errors.Is(err, failure.ErrInsecure) != insecure || !insecure && err != nil {
				t.Errorf("%s: token of %q, login: %v; want insecure: %v", last, s.TokenHost(), err, insecure)
			}
		}
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	for to, kept := range map[string]bool{
		"https://example.com/d":      true,
		"https://example.com:8443/d": false,
		"https://sub.example.com/d":  false,
		"https://other.test/d":       false,
	} {
		w := pages(map[string]webtest.Handler{"https://example.com" + path: webtest.Redirect(to), to: answer(200, `{}`)})
		c := client(w)
		c.Transport.Credentials = auth.Chain(auth.MustNewToken("secret").For(example), auth.MustNewToken("others").For(other))
		discover(t, c, example)
		if got := w.Requests()[0].Header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("the first request has %q", got)
		}
		if got := w.Requests()[1].Header.Get("Authorization"); got != "" != kept || kept && got != "Bearer secret" {
			t.Errorf("the redirect to %s has %q", to, got)
		}
	}
}

func TestZeroHostname(t *testing.T) {
	t.Parallel()
	w := webtest.Serve(answer(200, `{}`))
	_, err := client(w).Discover(t.Context(), svchost.Hostname{})
	if _, _, ok := failed(err); !ok || len(w.Requests()) != 0 {
		t.Errorf("error %v", err)
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	c := client(pages(map[string]webtest.Handler{
		"https://example.com" + path:           webtest.Redirect("https://cdn.example.com/d?sig=hidden"),
		"https://cdn.example.com/d?sig=hidden": answer(200, `{"modules.v1":"/m/"}`),
	}))
	c.Transport.Logger = slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c.Transport.Credentials = auth.MustNewToken("secret").For(example)
	discover(t, c, example)
	if out := b.String(); !strings.Contains(out, "discovered services") || !strings.Contains(out, "services=1") || strings.Contains(out, "secret") || strings.Contains(out, "hidden") {
		t.Errorf("log:\n%s", out)
	}
}
