package httpx_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/testing/must"
)

func TestGet(t *testing.T) {
	t.Parallel()
	s := serve(status(http.StatusOK, `{"a":1}`, "Content-Type: application/json"))
	r := get("https://registry.example.com/v1/x?a=b#part")
	r.Accept, r.TokenFor = "application/json", home
	resp := must.Get(client(t, s).Document(t.Context(), r))(t)
	if string(resp.Body) != `{"a":1}` || resp.Status != 200 || resp.Attempts != 1 || !resp.HadToken || resp.Header.Get("Content-Type") == "" {
		t.Errorf("response %+v", resp)
	}
	if got := resp.URL.String(); got != "https://registry.example.com/v1/x?a=b" {
		t.Errorf("URL %s", got)
	}
	req := s.Requests()[0]
	for name, want := range map[string]string{
		"Accept": "application/json", "Authorization": "Bearer " + secret,
		"Cookie": "", "Range": "", "Referer": "", "Accept-Encoding": "",
	} {
		if got := req.Header.Get(name); got != want {
			t.Errorf("header %s: %q, want %q", name, got, want)
		}
	}
	if ua := req.Header.Get("User-Agent"); !strings.HasPrefix(ua, "tofureg") {
		t.Errorf("User-Agent %q", ua)
	}
	if req.Method != http.MethodGet {
		t.Errorf("method %s, want GET", req.Method)
	}
}

func TestEmptyDocument(t *testing.T) {
	t.Parallel()
	s := serve(status(http.StatusNoContent, "", "X-Terraform-Get: ./x.zip"))
	resp, err := client(t, s).Document(t.Context(), get("https://registry.example.com/"))
	if err != nil || resp.Status != 204 || resp.Body == nil || len(resp.Body) != 0 || resp.Header.Get("X-Terraform-Get") != "./x.zip" {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status   int
		requests int
		wraps    error
		text     string
	}{
		{206, 1, nil, "unexpected part of the document"},
		{300, 1, nil, "status 300: multiple choices"},
		{302, 1, nil, "status 302: found"}, // without a Location
		{304, 1, nil, "status 304: not modified"},
		{400, 1, nil, "status 400: bad request"},
		{401, 1, failure.ErrUnauthorized, "status 401: unauthorized (a token was sent)"},
		{403, 1, failure.ErrUnauthorized, "status 403: unauthorized (a token was sent)"},
		{404, 1, failure.ErrNotFound, "status 404: not found"},
		{410, 1, failure.ErrNotFound, "status 410: not found"},
		{418, 1, nil, "status 418: i'm a teapot"},
		{429, 3, nil, "status 429: too many requests (3 attempts)"},
		{500, 3, nil, "status 500: internal server error (3 attempts)"},
		{501, 1, nil, "status 501: not implemented"},
		{502, 3, nil, "status 502: bad gateway (3 attempts)"},
		{503, 3, nil, "status 503: service unavailable (3 attempts)"},
		{599, 3, nil, "status 599: unexpected status (3 attempts)"},
		{999, 3, nil, "status 999: unexpected status (3 attempts)"},
	} {
		for name, ask := range asks {
			bubble(t, fmt.Sprint(name, test.status), func(t *testing.T) {
				s := serve(status(test.status, ""))
				err := ask(client(t, s), t.Context(), withToken("https://registry.example.com/v1/x"))
				e := asError(t, err)
				if n := len(s.Requests()); n != test.requests || e.Attempts != n {
					t.Errorf("%d requests, Attempts %d, want %d", n, e.Attempts, test.requests)
				}
				if e.Status != test.status || !e.HadToken || e.URL != "https://registry.example.com/v1/x" {
					t.Errorf("%+v", e)
				}
				for _, sentinel := range []error{failure.ErrUnauthorized, failure.ErrNotFound, failure.ErrTooLarge, failure.ErrInsecure, failure.ErrChanged} {
					if errors.Is(err, sentinel) != (sentinel == test.wraps) {
						t.Errorf("errors.Is(%v, %v) is wrong", err, sentinel)
					}
				}
				if !strings.Contains(err.Error(), test.text) {
					t.Errorf("text %q, want %q in it", err, test.text)
				}
			})
		}
	}
}

// A limit applies to the decompressed bytes, with a declared length, in chunks or compressed.
func TestLimit(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := limit
		if strings.HasSuffix(r.URL.Path, "/over") {
			n++
		}
		text := bytes.Repeat([]byte("x"), n)
		switch {
		case strings.HasPrefix(r.URL.Path, "/declared"):
			w.Header().Set("Content-Length", fmt.Sprint(n))
		case strings.HasPrefix(r.URL.Path, "/gzip"):
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Errorf("Accept-Encoding %q", r.Header.Get("Accept-Encoding"))
			}
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			z.Write(text)
			z.Close()
			return
		default:
			w.(http.Flusher).Flush()
		}
		w.Write(text)
	})
	for _, kind := range []string{"declared", "chunked", "gzip"} {
		bubble(t, kind, func(t *testing.T) {
			c := client(t, listen(t, handler))
			r := get("https://registry.example.com/" + kind + "/exact")
			r.Limit = limit
			resp, err := c.Document(t.Context(), r)
			if err != nil || len(resp.Body) != limit {
				t.Fatalf("a body of exactly the limit: %v", err)
			}
			r = get("https://registry.example.com/" + kind + "/over")
			r.Limit = limit
			_, err = c.Document(t.Context(), r)
			e := asError(t, err)
			if !errors.Is(err, failure.ErrTooLarge) || e.Attempts != 1 || e.Status != 200 {
				t.Errorf("one byte more: %v, want ErrTooLarge at the first attempt", err)
			}
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestLimitIsRequired(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{0, -1} {
		s := serve(status(200, ""))
		r := get("https://registry.example.com/")
		r.Limit = limit
		_, err := client(t, s).Document(t.Context(), r)
		if asError(t, err); len(s.Requests()) != 0 {
			t.Error("a request was made")
		}
	}
	s := serve(status(200, "abc"))
	r := get("https://registry.example.com/")
	r.Limit = 1<<63 - 1
	if resp, err := client(t, s).Document(t.Context(), r); err != nil || string(resp.Body) != "abc" {
		t.Errorf("the largest limit: %v", err)
	}
}

// An EOF instead of an answer has a clear error.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		_, err := client(t, tr).Document(t.Context(), get(start))
		if asError(t, err); !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "connection was closed without an answer") {
			t.Errorf("error %v", err)
		}
	})
}

// A request with an interrupted body is retried.
func TestBrokenDocumentIsRetried(t *testing.T) {
	t.Parallel()
	whole := `{"versions":[]}`
	for name, broken := range map[string]handler{
		"reset":        sends(200, whole[:5], wire{end: errReset}, -1),
		"truncated":    sends(200, whole[:5], wire{}, int64(len(whole))),
		"stalled":      sends(200, whole[:5], wire{stalls: true}, -1),
		"not answered": hangs,
		"refused":      fails(errReset),
	} {
		bubble(t, name, func(t *testing.T) {
			s := serve(broken, broken, status(200, whole))
			resp, err := client(t, s).Document(t.Context(), get("https://registry.example.com/"))
			if err != nil || string(resp.Body) != whole || resp.Attempts != 3 {
				t.Errorf("%+v, %v", resp, err)
			}
			s = serve(broken)
			_, err = client(t, s).Document(t.Context(), get("https://registry.example.com/"))
			if e := asError(t, err); e.Attempts != 3 || len(s.Requests()) != 3 ||
				name == "truncated" && (!errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "after 5 bytes")) {
				t.Errorf("%v after %d requests", err, len(s.Requests()))
			}
		})
	}
}

// The timeout of an attempt is the smaller of Timeout and HTTP.Timeout, and includes the body.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		timeout, caller, want time.Duration // want 0: until the context ends
	}{
		{0, 0, 10 * time.Second},
		{3 * time.Second, 0, 3 * time.Second},
		{-1, 0, 0},
		{0, time.Second, time.Second},
		{3 * time.Second, time.Second, time.Second},
		{3 * time.Second, time.Minute, 3 * time.Second},
		{-1, time.Minute, time.Minute},
	} {
		for name, slow := range map[string]handler{
			"headers":    hangs,
			"body":       sends(200, "x", wire{stalls: true}, -1),
			"error body": sends(404, "sorry", wire{stalls: true}, -1),
		} {
			bubble(t, fmt.Sprint(test.timeout, test.caller, name), func(t *testing.T) {
				c := client(t, serve(slow))
				c.HTTP.Timeout, c.Timeout, c.Retries = test.caller, test.timeout, -1
				const patience = time.Hour
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				start := time.Now()
				_, err := c.Document(ctx, get("https://registry.example.com/"))
				e := asError(t, err)
				took := time.Since(start)
				if test.want == 0 {
					if took != patience || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("after %v: %v", took, err)
					}
					return
				}
				if took != test.want {
					t.Errorf("took %v, want %v", took, test.want)
				}
				if name == "error body" {
					if e.Status != 404 || e.Message != "sorry" {
						t.Errorf("%+v", e)
					}
					return
				}
				var timeout net.Error
				if !errors.As(err, &timeout) || !timeout.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v is not a timeout error, or is a context error", err)
				}
			})
		}
	}
}

// TestCallersClientIsKept: the jar and CheckRedirect of the caller's client are used, also when a request
// is repeated.
func TestCallersClientIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		jar := must.Get(cookiejar.New(nil))(t)
		var asked []string
		s := serve(status(302, "", "Location: /second", "Set-Cookie: c=d; Path=/; Secure"), status(200, "ok", "Set-Cookie: a=b; Path=/; Secure"), status(503, ""), status(200, ""))
		c := client(t, s)
		c.HTTP.Jar = jar
		c.HTTP.CheckRedirect = func(req *http.Request, via []*http.Request) error {
			asked = append(asked, via[0].URL.Path+" "+req.URL.Path)
			return nil
		}
		before := *c.HTTP
		must.Get(c.Document(t.Context(), get("https://registry.example.com/first")))(t)
		if len(asked) != 1 || asked[0] != "/first /second" {
			t.Errorf("CheckRedirect was asked %q", asked)
		}
		if u := (&url.URL{Scheme: "https", Host: "registry.example.com"}); len(jar.Cookies(u)) != 2 {
			t.Errorf("the jar has the cookies %v, want the one of the redirect and the one of the document", jar.Cookies(u))
		}
		if second := s.Requests()[1]; second.Header.Get("Cookie") != "c=d" || second.Response == nil {
			t.Errorf("the second hop got %v, want the cookie c=d; it has the redirect as Response: %v", second.Header, second.Response != nil)
		}
		must.Get(c.Document(t.Context(), get("https://registry.example.com/third")))(t)
		for _, req := range s.Requests()[2:] { // an attempt does not add to the headers of the next one
			if got := req.Header.Values("Cookie"); len(got) != 1 || got[0] != "c=d; a=b" {
				t.Errorf("%s got the cookies %q, want c=d and a=b once", req.URL, got)
			}
		}
		if c.HTTP.Transport != before.Transport || c.HTTP.Jar != before.Jar || c.HTTP.CheckRedirect == nil || c.HTTP.Timeout != 0 {
			t.Error("the caller's client was changed")
		}
	})
}

func TestCallersCheckRedirectRefuses(t *testing.T) {
	t.Parallel()
	s := serve(redirect("https://elsewhere.example.com/x?sig=sig-value"))
	c := client(t, s)
	mine := errors.New("not today")
	c.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return mine }
	_, err := c.Document(t.Context(), get("https://registry.example.com/"))
	if e := asError(t, err); !errors.Is(err, mine) || e.Attempts != 1 || e.Status != 302 {
		t.Errorf("error %+v", e)
	}
	leaks(t, err.Error())

	c.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	_, err = c.Document(t.Context(), get("https://registry.example.com/"))
	if e := asError(t, err); e.Status != 302 || !strings.Contains(err.Error(), "status 302") {
		t.Errorf("ErrUseLastResponse: %+v", e)
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	notFound := &failure.RequestError{Status: 404, Err: fmt.Errorf("it: %w", failure.ErrNotFound)}
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{notFound, true},
		{fmt.Errorf("discovery: %w", notFound), false},
		{&failure.RequestError{Status: 400, Err: io.EOF}, true},
		{&failure.RequestError{Status: 500, Err: io.EOF}, true},
		{&failure.RequestError{Status: 403, Err: failure.ErrUnauthorized}, false},
		{&failure.RequestError{Status: 502, Err: io.EOF}, false},
	} {
		if got := httpx.Refusal(test.err); (got != nil) != test.want {
			t.Errorf("%v: %v", test.err, got)
		}
	}
	because := notFound.Because(io.EOF)
	if because.Status != 404 || because.Err != io.EOF || notFound.Err == io.EOF {
		t.Errorf("%v, of %v", because, notFound)
	}
}

func TestUnusable(t *testing.T) {
	t.Parallel()
	resp := &httpx.Response{Status: 200, URL: &url.URL{Scheme: "https", Host: "example.com", Path: "/a", RawQuery: "b=c"}, HadToken: true, Attempts: 2}
	e, ok := resp.Unusable(io.EOF).(*failure.RequestError)
	if !ok || e.URL != "https://example.com/a?..." || e.Status != 200 || !e.HadToken || e.Attempts != 2 || e.Err.Error() != "unusable answer: EOF" {
		t.Errorf("%#v", e)
	}
	if again := resp.Unusable(e); again != error(e) {
		t.Errorf("Unusable(%v) = %v, want the same error", e, again)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	var notes httpx.Notes
	notes.Add("")
	notes.Addf("a %s", "\x1b")
	notes.Add(strings.Repeat("b", httpx.MaxNote+1))
	if got := notes.Lines(); len(got) != 2 || got[0] != `a \x1b` || len(got[1]) != httpx.MaxNote {
		t.Errorf("%q", got)
	}
	for range 98 {
		notes.Add("c")
	}
	if got := notes.Lines(); len(got) != 100 || got[99] != "c" {
		t.Errorf("%d lines: %q", len(got), got[len(got)-1])
	}
	notes.Add("d")
	if got := notes.Lines(); len(got) != 101 || got[100] != "and 1 more warnings" {
		t.Errorf("%d lines: %q", len(got), got[len(got)-1])
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string][]string{
		`{}`:     nil,
		` { }  `: nil,
		"\n{\"a\": {\"b\":[{\"c\":\"}\"}]} ,\t\"d\":1e3,\"\\u0065\\\"\" :null, \"\": \"\\\\\"}\n": {"a {", "d 1", `e" n`, ` "`},
	} {
		var got []string
		for m := range httpx.Members([]byte(doc)) {
			if doc[m.At] != '"' {
				t.Errorf("%s: At is %d, which is not the offset of a name", doc, m.At)
			}
			got = append(got, m.Name+" "+string(m.Value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}
