package mirrorclient_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

const (
	mirrorHost = "mirror.example.com"
	baseURL    = "https://mirror.example.com/providers/"
	alphaURL   = baseURL + "registry.example.com/acme/alpha/"
)

var (
	alpha = addrs.MustParseProvider("registry.example.com/acme/alpha")
	linux = addrs.MustParsePlatform("linux_amd64")
	plan9 = addrs.MustParsePlatform("plan9_arm")
	v120  = addrs.MustParseVersion("1.2.0")
)

// site is a web server for tests: pages by URL, and a record of the requests.
type site struct {
	mu    sync.Mutex
	pages map[string]page
	seen  []*http.Request
}

// page is a response. The zero status means 200, and the default media type is application/json.
type page struct {
	status int
	header http.Header
	body   string
	delay  time.Duration
	cut    int // number of bytes after which the body ends, 0 for all
}

// mirror is a site with documents below the URL of the provider alpha.
func mirror(documents map[string]string) *site {
	s := &site{pages: map[string]page{}}
	for name, body := range documents {
		s.pages[alphaURL+name] = page{body: body}
	}
	return s
}

func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.seen = append(s.seen, r)
	p, ok := s.pages[r.URL.String()]
	s.mu.Unlock()
	if !ok {
		p = page{status: http.StatusNotFound, header: http.Header{"Content-Type": {"text/plain"}}, body: "no such page"}
	}
	select {
	case <-time.After(p.delay):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	header := http.Header{"Content-Type": {"application/json"}}
	for name, values := range p.header {
		header[name] = values
	}
	resp := jsonAnswer(r, p.body)
	resp.Header = header
	if p.status != 0 {
		resp.StatusCode = p.status
	}
	var from int
	_, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
	switch {
	case err == nil:
		resp.StatusCode, resp.ContentLength = http.StatusPartialContent, int64(len(p.body)-from)
		header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(p.body)-1, len(p.body)))
		resp.Body = io.NopCloser(strings.NewReader(p.body[from:]))
	case p.cut > 0:
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(p.body[:p.cut]), iotest.ErrReader(errors.New("connection lost"))))
	}
	return resp, nil
}

// asked returns the requested URLs.
func (s *site) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var urls []string
	for _, r := range s.seen {
		urls = append(urls, r.URL.String())
	}
	return urls
}

// client returns a client of the mirror at baseURL without retries.
func client(web http.RoundTripper) *mirrorclient.Client {
	return &mirrorclient.Client{BaseURL: baseURL, Transport: &transport.Settings{HTTP: &http.Client{Transport: web}, Retries: -1}}
}

// tokens has one token for each host.
func tokens(t testing.TB, secret string, hosts ...string) auth.Source {
	t.Helper()
	var all []svchost.Hostname
	for _, host := range hosts {
		all = append(all, svchost.MustParse(host))
	}
	return auth.MustNewToken(secret).For(all...)
}

// failed is a *failure.Error with the request in its chain, if there is one.
type failed struct {
	Op, Subject string
	failure.RequestError
}

// asError returns the parts of err, which must be a *failure.Error.
func asError(t testing.TB, err error) failed {
	t.Helper()
	e, ok := err.(*failure.Error)
	if !ok {
		t.Fatalf("error %T %v, want a *failure.Error", err, err)
	}
	if strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("the error is not one printable line: %q", err)
	}
	f := failed{Op: e.Op, Subject: e.Subject}
	if r, ok := errors.AsType[*failure.RequestError](err); ok {
		f.RequestError = *r
	}
	return f
}

// packed is a small archive with a directory entry, so that its two h1 hashes differ.
func packed(t testing.TB) []byte {
	t.Helper()
	return archivetest.Zip(t, archivetest.Entry{Name: "docs/"},
		archivetest.Entry{Name: "terraform-provider-alpha_v1.2.0", Content: strings.Repeat("alpha", 1000)})
}

func zh(content []byte) string { return checksum.ZHSum(sha256.Sum256(content)).String() }

func h1(t testing.TB, content []byte) (archive, tree string) {
	t.Helper()
	a, b, err := checksum.H1Zip(t.Context(), bytes.NewReader(content), int64(len(content)), checksum.Limits{})
	must.Do(t, err)
	return a.String(), b.String()
}

// document is the document of a version with one archive.
func document(platform, url string, hashes ...string) string {
	list, _ := json.Marshal(append([]string{}, hashes...))
	return fmt.Sprintf(`{"archives":{%q:{"url":%q,"hashes":%s}}}`, platform, url, list)
}
