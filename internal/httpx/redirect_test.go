package httpx_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

const start = "https://registry.example.com/v1/start"

// A token, a login and the user of the URL are sent only to the first origin.
func TestRedirectsAndTheCredentials(t *testing.T) {
	t.Parallel()
	const yes, no = true, false
	for _, test := range []struct {
		name  string
		hops  []string
		sent  []bool // at the first URL, then at each hop
		login []bool // user and password; nil: as the token
	}{
		{"same origin", []string{"https://registry.example.com/b"}, []bool{yes, yes}, nil},
		{"relative", []string{"../b", "c"}, []bool{yes, yes, yes}, nil},
		{"port spelled out", []string{"https://registry.example.com:443/b"}, []bool{yes, yes}, nil},
		{"empty port", []string{"https://registry.example.com:/b"}, []bool{yes, yes}, nil},
		{"case", []string{"https://REGISTRY.Example.COM/b"}, []bool{yes, yes}, nil},
		{"scheme in capitals", []string{"HTTPS://registry.example.com/b"}, []bool{yes, yes}, nil},
		{"no scheme", []string{"//registry.example.com/b"}, []bool{yes, yes}, nil},
		{"other port", []string{"https://registry.example.com:8443/b"}, []bool{yes, no}, nil},
		{"subdomain", []string{"https://cdn.registry.example.com/b"}, []bool{yes, no}, nil},
		{"parent domain", []string{"https://example.com/b"}, []bool{yes, no}, nil},
		{"other host", []string{"https://elsewhere.example.net/b"}, []bool{yes, no}, nil},
		{"http", []string{"http://registry.example.com/b"}, []bool{yes, no}, nil},
		{"http on port 443", []string{"http://registry.example.com:443/b"}, []bool{yes, no}, nil},
		{"there and back", []string{"https://elsewhere.example.net/b", start}, []bool{yes, no, no}, nil},
		{"http and back", []string{"http://registry.example.com/b", start}, []bool{yes, no, no}, nil},
		{"presigned at home", []string{"/b?X-Amz-Signature=1", "/c", start}, []bool{yes, no, no, no}, nil},
		{"token parameter at home", []string{"/b?token=next-page", "/c"}, []bool{yes, yes, yes}, []bool{yes, no, no}},
	} {
		for _, how := range []string{"token", "login", "user", "token and user"} {
			for _, code := range []int{301, 302, 303, 307, 308} {
				t.Run(fmt.Sprint(test.name, how, code), func(t *testing.T) {
					t.Parallel()
					s, a := hops(code, test.hops), asked{}
					c := client(t, s)
					c.AllowHTTP = true
					r, header, want := get(start), "Bearer "+secret, test.sent
					if strings.Contains(how, "token") {
						r.TokenFor = home
					} else if test.login != nil {
						want = test.login
					}
					switch how {
					case "login":
						r.Login, header = a.login, basic
					case "user":
						c.Credentials, r.TokenFor = &source{}, home // which has no token
						header = "Basic dXNlcjpodW50ZXIy"
						if i := slices.IndexFunc(test.hops, func(hop string) bool { return strings.Contains(hop, "//") }); i >= 0 {
							want = append(slices.Clone(want[:i+1]), make([]bool, len(want)-i-1)...) // an absolute location has no user
						}
						fallthrough
					case "token and user":
						r.URL.User = url.UserPassword("user", "hunter2")
					}
					resp := must.Get(c.Document(t.Context(), r))(t)
					if sent := authorized(t, s, header); !slices.Equal(sent, want) || how == "login" && strings.Join(a, " ") != "registry.example.com" {
						t.Errorf("sent %v, want %v; Login was called for %v", sent, want, a)
					}
					for _, req := range s.Requests() {
						if ref := req.Header.Get("Referer"); ref != "" {
							t.Errorf("Referer %q", ref)
						}
					}
					if last := s.Requests()[len(test.hops)]; resp.URL.String() != last.URL.String() {
						t.Errorf("URL %s, want %s", resp.URL, last.URL)
					}
				})
			}
		}
	}
}

// A password is not sent over http, and no error shows it.
func TestUserInformationInTheURL(t *testing.T) {
	t.Parallel()
	s := serve(status(403, "hunter2"))
	c := client(t, s)
	c.AllowHTTP = true
	_, err := c.Document(t.Context(), get("http://user:hunter2@registry.example.com/"))
	if asError(t, err); !errors.Is(err, failure.ErrInsecure) || len(s.Requests()) != 0 {
		t.Errorf("a password over http: %v", err)
	}
	leaks(t, err.Error())
	_, err = c.Document(t.Context(), get("https://user:hunter2@registry.example.com/"))
	leaks(t, err.Error())
}

func TestFirstURLAndTheToken(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct {
		Address string
		Want    bool
	}](t, "first-urls-token.txt") {
		s := serve(status(200, ""))
		c := client(t, s)
		c.AllowHTTP = true
		resp, err := c.Document(t.Context(), withToken(test.Address))
		if err != nil {
			t.Errorf("%s: %v", test.Address, err)
			continue
		}
		if sent := s.Requests()[0].Header.Get("Authorization") != ""; sent != test.Want || resp.HadToken != test.Want {
			t.Errorf("%s: token sent %v (HadToken %v), want %v", test.Address, sent, resp.HadToken, test.Want)
		}
	}
}

func TestRefusedRedirects(t *testing.T) {
	t.Parallel()
	kinds := map[string]error{"ErrInsecure": failure.ErrInsecure, "ErrTooLarge": failure.ErrTooLarge, "errVeto": errVeto}
	for _, test := range casetest.Read[struct{ Location, Wraps, Text string }](t, "redirects-refused.txt") {
		s := serve(redirect(test.Location), status(200, ""))
		c := client(t, s)
		c.VetoHost = vetoPrivate
		_, err := c.Document(t.Context(), withToken(start+"?q=query-value"))
		e := asError(t, err)
		if len(s.Requests()) != 1 || e.Attempts != 1 || e.Status != 302 {
			t.Errorf("%.60q: %d requests, %+v", test.Location, len(s.Requests()), e)
		}
		if want, ok := kinds[test.Wraps]; test.Wraps != "" && (!ok || !errors.Is(err, want)) {
			t.Errorf("%.60q: %v", test.Location, err)
		}
		if !strings.Contains(err.Error(), test.Text) || len(err.Error()) > 2000 {
			t.Errorf("%.60q: text %.2000q, want %q in it", test.Location, err, test.Text)
		}
		leaks(t, err.Error())
	}
}

var errVeto = errors.New("private")

func vetoPrivate(host string) error {
	if strings.HasPrefix(host, "10.") || host == "localhost" {
		return errVeto
	}
	return nil
}

func TestRedirectLimit(t *testing.T) {
	t.Parallel()
	for limit, follows := range map[int]int{0: 10, 5: 5, 1: 1, -1: 0} {
		s := serve(redirect(start)) // a loop
		r := get(start)
		r.Redirects = limit
		_, err := client(t, s).Document(t.Context(), r)
		e := asError(t, err)
		if n := len(s.Requests()); n != follows+1 || e.Attempts != 1 || !strings.Contains(err.Error(), fmt.Sprintf("more than %d redirects", follows)) {
			t.Errorf("limit %d: %d requests; %v", limit, n, err)
		}
		// The maximum number of redirects is followed.
		if _, err := client(t, hops(302, slices.Repeat([]string{"/next"}, follows))).Document(t.Context(), r); err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// VetoHost is called with each host before the request.
func TestVetoHostIsAskedFirst(t *testing.T) {
	t.Parallel()
	var asked []string
	s := serve(redirect("https://B.example.com:8443/"), redirect("//b\u00fccher.example.com/"), redirect("https://c.example.com:443/"),
		redirect("https://D.example.com:/"), redirect("https://e.example.com:08443/"), redirect("https://[2001:DB8::1]:08443/"),
		redirect("https://[fe80::1%25en0]/"), redirect("https://[::ffff:192.0.2.1]:443/"), redirect("https://0xy.x0/"), status(200, ""))
	c := client(t, s)
	c.VetoHost = func(host string) error {
		if len(s.Requests()) != len(asked) {
			t.Errorf("VetoHost was called for %s after %d requests", host, len(s.Requests()))
		}
		asked = append(asked, host)
		return nil
	}
	must.Get(c.Document(t.Context(), get("https://A.example.com/")))(t)
	if want := []string{"a.example.com", "b.example.com:8443", "xn--bcher-kva.example.com", "c.example.com",
		"d.example.com", "e.example.com:8443", "[2001:db8::1]:8443", "[fe80::1]", "192.0.2.1", "0xy.x0"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	for i, req := range s.Requests() {
		if got := strings.Replace(req.URL.Host, "%en0", "", 1); got != asked[i] {
			t.Errorf("VetoHost was called for %s, the request went to %s", asked[i], req.URL.Host)
		}
	}
}

// If VetoHost refuses the host, Credentials is not called.
func TestVetoComesBeforeTheToken(t *testing.T) {
	t.Parallel()
	src := &source{err: errors.New("must not be asked")}
	c := &httpx.Client{HTTP: &http.Client{Transport: serve(status(200, ""))}, Credentials: src}
	c.VetoHost = func(string) error { return errVeto }
	if _, err := c.Document(t.Context(), withToken(start)); !errors.Is(err, errVeto) || src.lookups != 0 {
		t.Errorf("error %v, %d lookups", err, src.lookups)
	}
}

// The error of a refused redirect has its RetryAfter, not the one of an earlier answer.
func TestRefusedRedirectAfterAWait(t *testing.T) {
	t.Parallel()
	for location, after := range map[string]string{"/%zz": "", "ftp://registry.example.com/": "", "/%zy": "7"} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(status(503, "", "Retry-After: 5"), status(302, "", "Location: "+location, "Retry-After: "+after))
			_, err := client(t, s).Document(t.Context(), get(start))
			want := map[string]time.Duration{"7": 7 * time.Second}[after]
			if e := asError(t, err); e.Status != 302 || e.RetryAfter != want {
				t.Errorf("%s: status %d, wait %v, want %v", location, e.Status, e.RetryAfter, want)
			}
		})
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://example.com":          "https://example.com/a/b%2Fc%3F",
		"https://example.com/x%2Fy":    "https://example.com/x%2Fy/a/b%2Fc%3F",
		"https://example.com/x/?q=1#f": "https://example.com/x/a/b%2Fc%3F",
		"https://example.com/x?":       "https://example.com/x/a/b%2Fc%3F",
	} {
		u := must.Get(url.Parse(base))(t)
		if got := httpx.Endpoint(u, "a", "b/c?").String(); got != want || u.String() != base {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	base := must.Get(url.Parse("https://example.com/a/b?c=d"))(t)
	insecure := []string{"set AllowHTTP", "is not https"}
	strict, lax := &httpx.Client{}, &httpx.Client{AllowHTTP: true}
	for _, test := range []struct {
		client *httpx.Client
		base   *url.URL
		ref    string
		want   string // the URL, or after "!" a part of the error
	}{
		{strict, base, "x.zip?y=z", "https://example.com/a/x.zip?y=z"},
		{strict, base, "//files.example.com/x", "https://files.example.com/x"},
		{strict, nil, "https://example.com/x", "https://example.com/x"},
		{strict, nil, "x.zip", "!no host"},
		{strict, base, "https:x", "!no host"},
		{strict, base, "https://secret@example.com/", "!user name"},
		{strict, base, "x#secret", "!fragment"},
		{strict, base, "http://example.com/x", "!set AllowHTTP"},
		{lax, base, "http://example.com/x", "http://example.com/x"},
		{lax, base, "ftp://example.com/x", "!is not https"},
		{strict, base, "https://example.com:99999/", "!port"},
		{strict, base, "secret x", "!a space"},
		{strict, base, `\\secret`, "!backslash"},
		{strict, base, "https://secret%zz/", "!invalid URL"},
	} {
		u, err := test.client.Resolve(test.base, test.ref)
		reason, refused := strings.CutPrefix(test.want, "!")
		switch {
		case !refused && (err != nil || u.String() != test.want):
			t.Errorf("%s: %v, %v", test.ref, u, err)
		case refused && (err == nil || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %v, %v, want %q", test.ref, u, err, reason)
		case errors.Is(err, failure.ErrInsecure) != slices.Contains(insecure, reason):
			t.Errorf("%s: %v: errors.Is(err, ErrInsecure) is wrong", test.ref, err)
		}
	}
}
