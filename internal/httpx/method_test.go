package httpx_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// changes is a server that answers the first requests with these statuses, and then with 200.
type changes struct {
	t        *testing.T
	statuses []int
	bodies   []string
}

func (c *changes) RoundTrip(r *http.Request) (*http.Response, error) {
	body := must.Get(io.ReadAll(r.Body))(c.t)
	if r.Method != http.MethodPost || r.ContentLength != 7 || r.Header.Get("Content-Type") != "text/x" {
		c.t.Errorf("%s with %d bytes of %q, want POST with 7 bytes of text/x", r.Method, r.ContentLength, r.Header.Get("Content-Type"))
	}
	status := http.StatusOK
	if n := len(c.bodies); n < len(c.statuses) {
		status = c.statuses[n]
	}
	c.bodies = append(c.bodies, string(body))
	return &http.Response{StatusCode: status, Body: io.NopCloser(bytes.NewReader([]byte("{}"))), Header: http.Header{"Location": {"/other"}}, Request: r}, nil
}

// TestMethod sends a body with each attempt, and follows no redirect with it.
func TestMethod(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		statuses []int
		attempts int
		ok       bool
	}{{nil, 1, true}, {[]int{503, 429}, 3, true}, {[]int{412}, 1, false}, {[]int{301}, 1, false}, {[]int{307}, 1, false}} {
		synctest.Test(t, func(t *testing.T) {
			server := &changes{t: t, statuses: test.statuses}
			c := &httpx.Client{HTTP: &http.Client{Transport: server}}
			u := must.Get(url.Parse("https://storage.example.com/o"))(t)
			_, err := c.Document(t.Context(), httpx.Request{
				URL: u, Limit: 100, Redirects: -1, Method: http.MethodPost, ContentType: "text/x", Size: 7,
				Body: func() io.Reader { return strings.NewReader("content") },
			})
			if (err == nil) != test.ok || len(server.bodies) != test.attempts || strings.Join(server.bodies, "") != strings.Repeat("content", test.attempts) {
				t.Errorf("POST answered with %v: %v after the bodies %q, want %d attempts, success %t", test.statuses, err, server.bodies, test.attempts, test.ok)
			}
		})
	}
}
