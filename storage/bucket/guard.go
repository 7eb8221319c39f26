package bucket

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/failure"
)

// Guard sends the requests of an SDK, which contain secrets. It limits the bodies of lists and errors, and
// refuses an answer that is not the requested part of an object.
type Guard struct {
	Check    func(*url.URL) error       // refuses a URL before the request; if nil, HTTPS(false)
	IsObject func(r *http.Request) bool // for a GET of any size; if nil, no request is
}

// guarded is the transport of a Guard.
type guarded struct {
	Guard
	next http.RoundTripper
}

// Client returns a client with the Transport and Timeout of c, if not nil. It follows no redirect: the next
// server would get the signature.
func (g *Guard) Client(c *http.Client) *http.Client {
	if c == nil {
		c = http.DefaultClient
	}
	transport := &guarded{*g, cmp.Or(c.Transport, http.DefaultTransport)}
	if g.Check == nil {
		transport.Check = HTTPS(false)
	}
	if g.IsObject == nil {
		transport.IsObject = func(*http.Request) bool { return false }
	}
	return &http.Client{
		Transport:     transport,
		Timeout:       c.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// HTTPS returns a check that permits https URLs, and http ones if allowed.
func HTTPS(allowHTTP bool) func(*url.URL) error {
	return func(u *url.URL) error {
		if u.Scheme == "https" || u.Scheme == "http" && allowHTTP {
			return nil
		}
		return fmt.Errorf("%w: scheme %q, want https; for an emulator set AllowHTTP", failure.ErrInsecure, u.Scheme)
	}
}

// RoundTrip implements [http.RoundTripper].
func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.Check(r.URL); err != nil {
		return nil, &final{err}
	}
	resp, err := g.next.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet {
		if err = checkPart(r, resp); err != nil {
			resp.Body.Close()
			return nil, &final{err}
		}
	}
	if err == nil && !(r.Method == http.MethodGet && resp.StatusCode/100 == 2 && g.IsObject(r)) {
		resp.Body = &limited{resp.Body, MaxPage}
	}
	return resp, err
}

// checkPart returns an error if the answer is a part that was not asked for, or the whole object in place of a part: SDKs
// take the one as whole, and append the other to what they have read.
func checkPart(r *http.Request, resp *http.Response) error {
	asked := r.Header.Get("Range") // such as "bytes=5-"
	for name, values := range r.Header {
		if strings.EqualFold(name, "X-Ms-Range") { // the SDK of Azure does not write it in the canonical form
			asked = strings.Join(values, "")
		}
	}
	start, _, _ := strings.Cut(strings.TrimPrefix(asked, "bytes="), "-")
	got := resp.Header.Get("Content-Range")
	switch {
	case resp.StatusCode/100 != 2:
	case asked == "" && resp.StatusCode != http.StatusOK:
		return fmt.Errorf("the answer has the status %d, want 200", resp.StatusCode)
	case asked != "" && (resp.StatusCode != http.StatusPartialContent || !strings.HasPrefix(got, "bytes "+start+"-")):
		return fmt.Errorf("the answer to a request for a part has the status %d and the part %.50q, want 206 and %q", resp.StatusCode, got, asked)
	}
	return nil
}

// limited fails after left bytes.
type limited struct {
	io.ReadCloser
	left int64
}

func (b *limited) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		b.left = 0
		return 0, &final{fmt.Errorf("%w: a list or an error of more than %d bytes", failure.ErrTooLarge, MaxPage)}
	}
	return n, err
}

// final is an error for which SDKs do not repeat a request.
type final struct{ error }

func (e *final) Unwrap() error { return e.error }

// NonRetriable is for the SDK of Azure.
func (e *final) NonRetriable() {}

// RetryableError is for the SDK of AWS.
func (e *final) RetryableError() bool { return false }
