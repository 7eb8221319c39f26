package regclient_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
)

// hostileNet answers for every host and records the requests.
type hostileNet struct {
	mu     sync.Mutex
	sent   []string // "scheme://host", with a + if a password went along
	answer func(n int, req *http.Request) (status int, body io.Reader, header http.Header)
}

func (h *hostileNet) RoundTrip(req *http.Request) (*http.Response, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := req.URL.Scheme + "://" + req.URL.Host
	if a := req.Header.Get("Authorization"); a == basicAlice {
		at += "+"
	} else if a != "" {
		return nil, fmt.Errorf("Authorization: %s", a)
	}
	h.sent = append(h.sent, at)
	status, body, header := h.answer(len(h.sent), req)
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{Status: fmt.Sprint(status), StatusCode: status, Header: header, Body: io.NopCloser(body), ContentLength: -1, Request: req}, nil
}

// client knows a password for two hosts.
func (h *hostileNet) client(t *testing.T) *regclient.Client {
	return &regclient.Client{Transport: &transport.Client{HTTP: &http.Client{Transport: h}, AllowHTTP: true}, ModuleCredentials: netrc(t, "files.example.com", "other.example.net").Lookup}
}

// reply is an answer.
type reply func() (status int, body io.Reader, header http.Header)

// TestModuleCredentialsAfterPage: an HTML page may name a next location, which gets the password of
// its own host, by the same rules.
func TestModuleCredentialsAfterPage(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{ // "": nothing is asked
		"https://files.example.com/b.zip":                   "https://files.example.com+",
		"https://other.example.net/b.zip":                   "https://other.example.net+",
		"https://other.example.net:8443/b.zip":              "https://other.example.net:8443",
		"https://other.example.net/b.zip?X-Amz-Signature=a": "https://other.example.net",
		"https://evil.example.com/b.zip":                    "https://evil.example.com",
		"http://files.example.com/b.zip":                    "http://files.example.com",
		"git::https://files.example.com/b.git":              "",
	} {
		h := &hostileNet{answer: func(n int, _ *http.Request) (int, io.Reader, http.Header) {
			return 200, strings.NewReader(`<html><head><meta name="terraform-get" content="` + next + `"></head>`), nil
		}}
		loc := must(module.ParseLocation("https://files.example.com/a"))(t)
		if _, err := module.DownloadLocation(t.Context(), h.client(t), loc, t.TempDir()+"/module", module.Options{}); err == nil {
			t.Errorf("%s: DownloadLocation returned no error", next)
		}
		if got := strings.Join(h.sent, " "); got != strings.TrimSpace("https://files.example.com+ "+want) {
			t.Errorf("%s: sent %s, want %s", next, got, want)
		}
	}
}

// TestModuleCredentialsResumeElsewhere: a server that breaks off and then redirects cannot get the
// password sent elsewhere.
func TestModuleCredentialsResumeElsewhere(t *testing.T) {
	t.Parallel()
	const size, half = 200_000, 100_000
	rest := func() (int, io.Reader, http.Header) {
		return 206, strings.NewReader(strings.Repeat("x", size-half)),
			http.Header{"Etag": {`"a"`}, "Content-Range": {fmt.Sprintf("bytes %d-%d/%d", half, size-1, size)}}
	}
	broken := func() (int, io.Reader, http.Header) {
		return 200, io.MultiReader(strings.NewReader(strings.Repeat("x", half)), &cutReader{}), http.Header{"Etag": {`"a"`}}
	}
	redirect := func(to string) reply {
		return func() (int, io.Reader, http.Header) {
			return 302, strings.NewReader(""), http.Header{"Location": {to}}
		}
	}
	const first, port, other = "https://files.example.com/a.zip", "https://files.example.com:8443/a.zip", "https://other.example.net/a.zip"
	tests := map[string]struct {
		answers []reply
		want    []string
	}{
		"stays":          {[]reply{broken, rest}, []string{"https://files.example.com+", "https://files.example.com+"}},
		"goes elsewhere": {[]reply{broken, redirect(port), rest}, []string{"https://files.example.com+", "https://files.example.com+", "https://files.example.com:8443"}},
		"was elsewhere": {[]reply{redirect(other), broken, redirect(other), rest},
			[]string{"https://files.example.com+", "https://other.example.net", "https://files.example.com+", "https://other.example.net"}},
	}
	for name, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := &hostileNet{answer: func(n int, _ *http.Request) (int, io.Reader, http.Header) { return test.answers[n-1]() }}
			body := must(h.client(t).OpenModule(t.Context(), &module.Location{Kind: module.KindHTTP, URL: first}))(t)
			defer body.Close()
			if n, err := io.Copy(io.Discard, body); n != size || err != nil || !slices.Equal(h.sent, test.want) {
				t.Errorf("%s: %d bytes, %v, sent %q, want %q", name, n, err, h.sent, test.want)
			}
		})
	}
}

// cutReader is a connection that breaks.
type cutReader struct{}

func (*cutReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
