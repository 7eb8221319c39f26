package disco_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/transport"
)

// numbered answers the nth request to a host with a document that contains n.
func numbered() webtest.Handler {
	var mu sync.Mutex
	count := map[string]int{}
	return func(n int, r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		count[r.URL.Host]++
		return answer(200, fmt.Sprintf(`{"modules.v1":"/%d/"}`, count[r.URL.Host]))(n, r)
	}
}

func wantNumber(t *testing.T, c *disco.Client, host svchost.Hostname, n int) {
	t.Helper()
	s, err := c.Discover(t.Context(), host)
	if err != nil {
		t.Error(err)
		return
	}
	u, err := s.URL(disco.ModulesV1)
	if err != nil || u.Path != fmt.Sprintf("/%d/", n) {
		t.Errorf("%s: %v, %v, want request %d", host, u, err, n)
	}
}

// TestStrictBesideAllowHTTP: a client does not use services that another one found over http.
func TestStrictBesideAllowHTTP(t *testing.T) {
	t.Parallel()
	const insecure = "http://example.com/services"
	w := pages(map[string]webtest.Handler{
		"https://example.com" + path: webtest.Redirect(insecure),
		insecure:                     answer(200, `{"modules.v1":"https://attacker.test/v1/"}`),
	})
	lax, strict := client(w), client(w)
	lax.Transport.AllowHTTP, strict.Hosts = true, lax.Hosts
	wantURL(t, discover(t, lax, example), disco.ModulesV1, "https://attacker.test/v1/")
	if s, err := strict.Discover(t.Context(), example); !errors.Is(err, failure.ErrInsecure) {
		t.Errorf("Discover after a client with AllowHTTP = %v, %v, want ErrInsecure", s, err)
	}
	lax.Forget(example)
	n := len(w.Requests())
	discover(t, lax, example)
	if got := len(w.Requests()) - n; got != 2 {
		t.Errorf("%d requests after Forget, want 2", got)
	}
}

// Large documents are not cached.
func TestLargeDocumentsAreNotCached(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{64 << 10: 1, 64<<10 + 1: 2} {
		const doc = `{"modules.v1":"/1/"}`
		w := webtest.Serve(answer(200, doc+strings.Repeat(" ", size-len(doc))))
		c := client(w)
		wantNumber(t, c, example, 1)
		wantNumber(t, c, example, 1)
		if n := len(w.Requests()); n != want {
			t.Errorf("%d bytes: two calls made %d requests, want %d", size, n, want)
		}
	}
}

func TestTTL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ ttl, kept time.Duration }{{0, time.Hour}, {time.Minute, time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			c := client(webtest.Serve(numbered()))
			c.Hosts.TTL = tt.ttl
			wantNumber(t, c, example, 1)
			time.Sleep(tt.kept - 1)
			wantNumber(t, c, example, 1)
			time.Sleep(time.Nanosecond)
			wantNumber(t, c, example, 2)
			wantNumber(t, c, other, 1)
		})
	}
	c := client(webtest.Serve(numbered()))
	c.Hosts.TTL = -1
	wantNumber(t, c, example, 1)
	wantNumber(t, c, example, 2)
}

func TestLastCallerStopsTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := webtest.Serve(webtest.After(5*time.Second, numbered()))
		c := client(w)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		webtest.Together(3, func(int) {
			if _, err := c.Discover(ctx, example); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
		synctest.Wait()
		if r := w.Requests()[0]; r.Context().Err() == nil {
			t.Error("the request continues without a caller")
		}
		wantNumber(t, c, example, 1) // a cancelled request is not cached
	})
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	w := webtest.Serve(numbered())
	c := client(w)
	for i := range 2000 {
		host := svchost.MustParse(fmt.Sprintf("host%d.test", i))
		wantNumber(t, c, host, 1)
		wantNumber(t, c, host, 1)
	}
	for i := range 2000 {
		discover(t, c, svchost.MustParse(fmt.Sprintf("host%d.test", i)))
	}
	if n := len(w.Requests()); n < 4000-1024 {
		t.Errorf("2,000 hosts twice: %d requests, want at most 1,024 cached services", n)
	}
}

// TestRefusedHostsEvictNone: a host without an answer takes no place in the cache.
func TestRefusedHostsEvictNone(t *testing.T) {
	t.Parallel()
	w := webtest.Serve(numbered())
	c := client(w)
	errVeto := errors.New("not this one")
	c.Transport.VetoHost = func(host string) error {
		if host != example.String() {
			return errVeto
		}
		return nil
	}
	wantNumber(t, c, example, 1)
	for i := range 2000 {
		if _, err := c.Discover(t.Context(), svchost.MustParse(fmt.Sprintf("host%d.test", i))); !errors.Is(err, errVeto) {
			t.Fatal(err)
		}
	}
	wantNumber(t, c, example, 1)
	// Also cached services of a host are not used against a veto.
	strict := client(w)
	strict.Hosts, strict.Transport.HTTP = c.Hosts, c.Transport.HTTP
	strict.Transport.VetoHost = func(string) error { return errVeto }
	if s, err := strict.Discover(t.Context(), example); !errors.Is(err, errVeto) {
		t.Errorf("Discover of a vetoed host = %v, %v, want the veto", s, err)
	}
}

func TestOverrides(t *testing.T) {
	t.Parallel()
	s := disco.NewServices(example, map[disco.Service]any{"modules.v1": "m/", "providers.v1": "http://plain.test/"})
	w := webtest.Serve(numbered())
	c := client(w)
	c.Hosts.Overrides = map[svchost.Hostname]*disco.Services{example: s, other: nil}
	c.Hosts.Aliases = map[svchost.Hostname]svchost.Hostname{example: svchost.MustParse("never.test")}
	got := discover(t, c, example)
	wantURL(t, got, disco.ModulesV1, "https://example.com/.well-known/m/")
	wantURL(t, got, disco.ProvidersV1, "")
	if hostOf(got) != example || got.TokenHost() != example {
		t.Errorf("override of host %s with the token of %s", hostOf(got), got.TokenHost())
	}
	none := discover(t, c, other)
	if _, err := none.URL(disco.ModulesV1); !errors.Is(err, disco.ErrNoService) || hostOf(none) != other {
		t.Errorf("a nil override: %v at %s", err, hostOf(none))
	}
	c.Forget(example)
	discover(t, c, example)
	if n := len(w.Requests()); n != 0 {
		t.Errorf("%d requests, want 0 because of the overrides", n)
	}

	plain := client(w)
	plain.Transport.AllowHTTP = true
	plain.Hosts.Overrides = c.Hosts.Overrides
	wantURL(t, discover(t, plain, example), disco.ProvidersV1, "http://plain.test/")
	wantURL(t, s, disco.ProvidersV1, "") // the caller's own value has not changed

	// Services of one host may override another host.
	moved := client(w)
	moved.Hosts.Overrides = map[svchost.Hostname]*disco.Services{other: s}
	got = discover(t, moved, other)
	if hostOf(got) != other || got.TokenHost() != other || hostOf(s) != example {
		t.Errorf("hosts %s, %s, %s", hostOf(got), got.TokenHost(), hostOf(s))
	}
	wantURL(t, got, disco.ModulesV1, "https://example.com/.well-known/m/")
}

// TestFallback: the services of Fallback are those of a host that offers none, at that host and with its token, and of no
// other host.
func TestFallback(t *testing.T) {
	t.Parallel()
	const modules = `{"modules.v1": "/own/"}`
	for name, test := range map[string]struct {
		answer   webtest.Handler
		fallback string
		want     string // URL of modules.v1; empty if it has none
		fails    bool   // Discover fails
	}{
		"404":              {answer(404, ""), "/v1/modules/", "https://example.com/v1/modules/", false},
		"offers nothing":   {answer(200, `{}`), "/v1/modules/", "https://example.com/v1/modules/", false},
		"offers it":        {answer(200, modules), "/v1/modules/", "https://example.com/own/", false},
		"offers another":   {answer(200, `{"providers.v1": "/p/"}`), "/v1/modules/", "", false},
		"unavailable":      {answer(503, ""), "/v1/modules/", "", true},
		"refused":          {answer(401, ""), "/v1/modules/", "", true},
		"broken":           {answer(200, `{`), "/v1/modules/", "", true},
		"another host":     {answer(404, ""), "https://other.test/v1/", "", false},
		"without a scheme": {answer(404, ""), "//other.test/v1/", "", false},
		"relative":         {answer(404, ""), "v1/", "", false},
		"backslash":        {answer(404, ""), `/\other.test/`, "", false},
		"no fallback":      {answer(404, ""), "", "", false},
		"dots":             {answer(404, ""), "/../v1/modules/", "https://example.com/v1/modules/", false},
	} {
		c := client(webtest.Serve(test.answer))
		if test.fallback != "" {
			c.Hosts.Fallback = map[disco.Service]string{disco.ModulesV1: test.fallback}
		}
		s, err := c.Discover(t.Context(), example)
		if test.fails != (err != nil) {
			t.Errorf("%s: Discover: error %v, want one: %t", name, err, test.fails)
		}
		if err != nil {
			continue
		}
		if wantURL(t, s, disco.ModulesV1, test.want); s.TokenHost() != example {
			t.Errorf("%s: the token is that of %s, want %s", name, s.TokenHost(), example)
		}
	}

	// An override without services stays without services, and an alias has those of its target.
	c := client(webtest.Serve(answer(404, "")))
	c.Hosts.Fallback = map[disco.Service]string{disco.ModulesV1: "/v1/"}
	c.Hosts.Overrides = map[svchost.Hostname]*disco.Services{example: nil}
	alias := svchost.MustParse("alias.test")
	c.Hosts.Aliases = map[svchost.Hostname]svchost.Hostname{alias: other}
	wantURL(t, discover(t, c, example), disco.ModulesV1, "")
	wantURL(t, discover(t, c, alias), disco.ModulesV1, "https://other.test/v1/")
}

func TestAliases(t *testing.T) {
	t.Parallel()
	alias, second := svchost.MustParse("alias.test"), svchost.MustParse("second.test")
	w := webtest.Serve(numbered())
	c := client(w)
	c.Hosts.Aliases = map[svchost.Hostname]svchost.Hostname{alias: example, second: alias}
	c.Transport.Credentials = auth.Chain(auth.MustNewToken("of-alias").For(alias), auth.MustNewToken("of-example").For(example))
	s := discover(t, c, alias)
	if hostOf(s) != alias || s.TokenHost() != example {
		t.Errorf("services of %s with the token of %s", hostOf(s), s.TokenHost())
	}
	wantURL(t, s, disco.ModulesV1, "https://example.com/1/")
	if r := w.Requests()[0]; r.URL.Host != "example.com" || r.Header.Get("Authorization") != "Bearer of-example" {
		t.Errorf("request to %s with %q", r.URL.Host, r.Header.Get("Authorization"))
	}
	if _, err := s.URL("x.v1"); err == nil || err.Error() != "x.v1 at alias.test: service not offered; the host offers modules.v1" {
		t.Errorf("error %v", err)
	}
	// Alias and target share an entry of the cache.
	s = discover(t, c, example)
	if hostOf(s) != example || s.TokenHost() != example || len(w.Requests()) != 1 {
		t.Errorf("the target: %s, %s, %d requests", hostOf(s), s.TokenHost(), len(w.Requests()))
	}
	c.Forget(alias)
	wantNumber(t, c, example, 2)
	// The request for an alias of an alias goes to the second alias.
	discover(t, c, second)
	if r := w.Requests()[2]; r.URL.Host != "alias.test" || r.Header.Get("Authorization") != "Bearer of-alias" {
		t.Errorf("request to %s with %q", r.URL.Host, r.Header.Get("Authorization"))
	}
}

func TestAliasOfAnOverride(t *testing.T) {
	t.Parallel()
	alias := svchost.MustParse("alias.test")
	s := disco.NewServices(example, map[disco.Service]any{"modules.v1": "/m/"})
	w := webtest.Serve(numbered())
	c := client(w)
	c.Hosts.Overrides = map[svchost.Hostname]*disco.Services{example: s}
	c.Hosts.Aliases = map[svchost.Hostname]svchost.Hostname{alias: example}
	got := discover(t, c, alias)
	wantURL(t, got, disco.ModulesV1, "https://example.com/m/")
	if hostOf(got) != alias || got.TokenHost() != example || len(w.Requests()) != 0 {
		t.Errorf("%s, %s, %d requests", hostOf(got), got.TokenHost(), len(w.Requests()))
	}
}

// TestSharedHostsKeepApart: clients with the same HTTP, AllowHTTP and token share cached services.
// Other clients make their own requests, also at the same time, since theirs may be answered otherwise.
func TestSharedHostsKeepApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := webtest.Serve(webtest.After(time.Second, func(n int, r *http.Request) (*http.Response, error) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				return answer(401, "")(n, r)
			}
			return answer(200, `{"modules.v1":"/m/"}`)(n, r)
		}))
		hosts, web := new(disco.Hosts), &http.Client{Transport: w}
		secret := auth.MustNewToken("secret").For(example)
		other := auth.MustNewToken("another").For(example)
		for _, after := range []bool{false, true} {
			var wg sync.WaitGroup
			for name, settings := range map[string]*transport.Settings{
				"first":                {HTTP: web, Credentials: secret},
				"same":                 {HTTP: web, Credentials: secret, UserAgent: "x", Timeout: time.Minute},
				"other HTTP client":    {HTTP: &http.Client{Transport: w}, Credentials: secret},
				"AllowHTTP":            {HTTP: web, Credentials: secret, AllowHTTP: true},
				"no token":             {HTTP: web},
				"other token":          {HTTP: web, Credentials: other},
				"no token, again":      {HTTP: web},
				"other HTTP and token": {HTTP: &http.Client{Transport: w}, Credentials: other},
			} {
				settings.Retries = -1
				refused := settings.Credentials != secret
				wg.Go(func() {
					c := &disco.Client{Transport: settings, Hosts: hosts}
					if _, err := c.Discover(t.Context(), example); refused != errors.Is(err, failure.ErrUnauthorized) || !refused && err != nil {
						t.Errorf("%s: %v, want ErrUnauthorized: %v", name, err, refused)
					}
				})
			}
			wg.Wait()
			// 3 with the token, 3 without it; then new HTTP clients and refused ones ask again.
			if n, want := len(w.Requests()), map[bool]int{false: 6, true: 10}[after]; n != want {
				t.Errorf("after the first round: %v: %d requests, want %d", after, n, want)
			}
		}
	})
}
