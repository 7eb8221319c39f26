package httpx_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct{ Name, Media, Body, Want string }](t, "messages.txt") {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			// The token begins like a value of the query.
			r := withToken("https://registry.example.com/v1/x?key=query-value&b=2&ns=s3cr")
			_, err := client(t, serve(status(400, test.Body, "Content-Type: "+test.Media))).Document(t.Context(), r)
			e := asError(t, err)
			if e.Message != test.Want {
				t.Errorf("message %q, want %q", e.Message, test.Want)
			}
			if test.Want != "" && !strings.Contains(err.Error(), `the server says "`+strings.ReplaceAll(test.Want, `"`, `\"`)+`"`) {
				t.Errorf("text %q", err)
			}
			leaks(t, err.Error())
		})
	}
}

// The errors of a transport are shown without secrets and control characters, and errors.Is matches
// the cause.
func TestTransportErrorsAreScrubbed(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	address := "https://user:hunter2@registry.example.com/v1/x?sig=sig-value&a=query-value#fragment-value"
	for _, inner := range []error{
		cause,
		fmt.Errorf("proxy says: GET %s failed\x1b[31m: %w", address, cause),
		&url.Error{Op: "Get", URL: address, Err: cause},
		&url.Error{Op: "Get", URL: address, Err: &url.Error{Op: "Get", URL: address, Err: cause}},
		fmt.Errorf("cache: %w", &url.Error{Op: "Get", URL: address, Err: cause}),
		fmt.Errorf("malformed MIME header line: X-Echo: %s\r\n sig-value \u202e: %w", secret, cause),
		fmt.Errorf("%s: %w", strings.Repeat("much ", 10_000), cause),
	} {
		synctest.Test(t, func(t *testing.T) {
			r := withToken(address)
			c := client(t, serve(fails(inner)))
			for _, ask := range asks {
				err := ask(c, t.Context(), r)
				asError(t, err)
				if !errors.Is(err, cause) {
					t.Errorf("errors.Is does not find the cause of %v", err)
				}
				if len(err.Error()) > 1000 {
					t.Errorf("%d bytes of text", len(err.Error()))
				}
				for e := err; e != nil; e = errors.Unwrap(e) {
					leaks(t, e.Error())
				}
				leaks(t, fmt.Sprintf("%+v %v %q", err, err, err))
				if u, ok := errors.AsType[*url.Error](err); ok {
					leaks(t, u.Error())
				}
			}
		})
	}
}

// A URL with millions of parameters, in a document or a Location, is refused without parsing them.
func TestHugeQueries(t *testing.T) {
	// Not parallel: other tests would allocate memory.
	query := strings.Repeat("a&", 2<<20)
	for name, test := range map[string]struct{ first, location string }{
		"first":    {start + "?" + query, "/"},
		"redirect": {start, "/x?" + query},
	} {
		c := client(t, serve(redirect(test.location)))
		r := get(test.first)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := c.Document(t.Context(), r)
		runtime.ReadMemStats(&after)
		if asError(t, err); !errors.Is(err, failure.ErrTooLarge) || len(err.Error()) > 2000 {
			t.Errorf("%s: %.2000v", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%s: a query of %d bytes took %d bytes of memory", name, len(query), n)
		}
	}
}

// The limits of secrets and URLs at n and n+1.
func TestLimitsOfURLs(t *testing.T) {
	t.Parallel()
	// Values of at least four bytes of the first 64 parameters are secret.
	query := strings.Repeat("a&", 62) + "x=abc&x=defg&x=hijk"
	c := client(t, serve(status(400, "abc defg hijk")))
	_, err := c.Document(t.Context(), get(start+"?"+query))
	if e := asError(t, err); e.Message != "abc ... hijk" {
		t.Errorf("message %q", e.Message)
	}
	for n, want := range map[int]error{32 << 10: nil, 32<<10 + 1: failure.ErrTooLarge} {
		u := "https://h.example.com/?" + strings.Repeat("q", n-len("h.example.com/"))
		if _, err := client(t, serve(status(200, ""))).Document(t.Context(), get(u)); !errors.Is(err, want) {
			t.Errorf("%d bytes: %.200v, want %v", n, err, want)
		}
		if _, err := client(t, serve(redirect(u), status(200, ""))).Document(t.Context(), get(start)); !errors.Is(err, want) {
			t.Errorf("%d bytes in a redirect: %.200v, want %v", n, err, want)
		}
	}
}

func FuzzErrorAnswer(f *testing.F) {
	f.Add(404, "text/plain", "not found", "/x", "7")
	f.Add(403, "application/json", `{"errors":["`+secret+`"]}`, "https://b/?x=sig-value", "-1")
	f.Add(302, "", "", "https://b.example.com/%zz?x=sig-value", "")
	f.Add(302, "", "", "//registry.example.com:443/x?token=sig-value", "")
	f.Add(302, "", "", secret+"/x", "") // longer with each redirect, until there are too many
	f.Add(302, "", "", "https://"+secret+".example.com/"+secret, "")
	f.Fuzz(func(t *testing.T, code int, media, body, location, after string) {
		if code < 300 || code > 999 {
			return
		}
		for _, s := range []string{"hunter2", "sig-value", "query-value", "fragment-value"} {
			path, _, _ := strings.Cut(location, "?")
			if strings.Contains(body+path, s) {
				return // these words are no secrets unless they are in a query or before an @
			}
		}
		answer := func(int, *http.Request) (*http.Response, error) {
			resp := reply(code, io.NopCloser(strings.NewReader(body)), -1)
			resp.Header = http.Header{"Content-Type": {media}, "Location": {location}, "Retry-After": {after}, "X-Ratelimit-Reset": {after}}
			return resp, nil
		}
		c := client(t, serve(answer))
		c.Retries = -1
		_, err := c.Document(t.Context(), withToken(start+"?a=query-value"))
		e := asError(t, err)
		leaks(t, err.Error())
		if len(err.Error()) > 3000 || len(e.Message) > 200 || e.RetryAfter < 0 {
			t.Errorf("%d bytes: %v", len(err.Error()), err)
		}
	})
}

// A token in a redirect is masked in errors and logs.
func TestTokenInAddress(t *testing.T) {
	t.Parallel()
	const odd = "a/b+c=d~e"
	for _, test := range []struct {
		token    string
		location string
		want     string // the URL of the error
	}{
		{secret, "/v1/" + secret + "/x", "https://registry.example.com/..."},
		{secret, "https://" + secret + ".example.com/v1/x", "https://.../v1/x"},
		{secret, "https://" + strings.ToUpper(secret) + ".example.com/v1/x", "https://.../v1/x"},
		{secret, "/v1/x?q=" + secret, "https://registry.example.com/v1/x?..."},
		{secret, "/v1/s3cr3t%2Dt0ken", "https://registry.example.com/..."},
		{odd, "/v1/a/b+c=d~e/x", "https://registry.example.com/..."},
		{odd, "/v1/a%2Fb%2Bc%3Dd~e/x", "https://registry.example.com/..."},
		{odd, "/v1/x", "https://registry.example.com/v1/x"},
		{"k3y4", "/v1/k3y4", "https://registry.example.com/..."}, // the shortest that is a secret
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			c := client(t, serve(redirect(test.location), status(400, "")))
			c.Credentials = auth.MustNewToken(test.token).For(home)
			c.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
			r := withToken(start)
			_, err := c.Document(t.Context(), r)
			if e := asError(t, err); e.URL != test.want {
				t.Errorf("%s: URL %q, want %q", test.location, e.URL, test.want)
			}
			_, err = c.Open(t.Context(), r)
			shown := out.String() + asError(t, err).Error()
			if strings.Contains(shown, test.token) || strings.Contains(shown, "%2Fb") || !strings.Contains(shown, test.want) {
				t.Errorf("%s: %s", test.location, shown)
			}
		})
	}
	c := client(t, serve(redirect("/v1/"+secret), status(200, "{}")))
	res := must.Get(c.Document(t.Context(), withToken(start)))(t)
	leaks(t, res.ShownURL()+res.Fail(http.ErrBodyNotAllowed).Error())
	if !strings.HasSuffix(res.URL.Path, secret) {
		t.Errorf("URL of the response was masked: %s", res.URL)
	}
}
