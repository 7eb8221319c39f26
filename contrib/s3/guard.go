package s3

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/transport"
)

// Limits of lists. A page has pageKeys names of up to 1,024 bytes, and the SDK needs 35 times its size.
const (
	pageKeys       = 500
	maxPage        = 1 << 20
	defaultTimeout = 10 * time.Second
)

// permits returns an error if the location of o is at a host that is not permitted.
func (f *Fetcher) permits(o *object) error {
	host, _, err := weburl.Host(o.url)
	switch {
	case err != nil:
	case f.Hosts != nil:
		err = f.Hosts(host)
	case o.endpoint != "":
		err = errors.New("not a host of amazonaws.com; set Fetcher.Hosts to permit it")
	}
	if err != nil {
		return fmt.Errorf("%w: %q: %w", ErrHost, weburl.Clean(o.url.Host, weburl.MaxShown), err)
	}
	return f.allowed(o, o.url)
}

// allowed returns an error if no request for o may go to u. The region of a location decides the host
// of the request.
func (f *Fetcher) allowed(o *object, u *url.URL) error {
	t := f.settings()
	if u.Scheme != "https" && !(u.Scheme == "http" && t.AllowHTTP) {
		return fmt.Errorf("%w: scheme %q of bucket %q", module.ErrInsecure, u.Scheme, o.bucket)
	}
	host, _, err := weburl.Host(u)
	switch {
	case err != nil:
	case o.endpoint == "" && !strings.HasSuffix(host, ".amazonaws.com"):
		err = fmt.Errorf("the region %q is not at amazonaws.com", o.region)
	case t.VetoHost != nil:
		err = t.VetoHost(host)
	}
	if err != nil {
		return fmt.Errorf("%w: %q: %w", ErrHost, weburl.Clean(u.Host, weburl.MaxShown), err)
	}
	return nil
}

func (f *Fetcher) settings() *transport.Client {
	if f.Transport == nil {
		return &transport.Client{}
	}
	return f.Transport
}

// guarded returns the client for the requests of the SDK, which are lists of objects. It follows no
// redirects, since they would get the signature.
func (f *Fetcher) guarded(o *object) *http.Client {
	t := f.settings()
	g := guard{f, o, http.DefaultTransport}
	if t.HTTP != nil && t.HTTP.Transport != nil {
		g.next = t.HTTP.Transport
	}
	return &http.Client{
		Transport:     g,
		Timeout:       max(0, cmp.Or(t.Timeout, defaultTimeout)),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// guard checks each request and limits its answer.
type guard struct {
	f    *Fetcher
	o    *object
	next http.RoundTripper
}

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.f.allowed(g.o, r.URL); err != nil {
		return nil, err
	}
	resp, err := g.next.RoundTrip(r)
	if err == nil {
		resp.Body = &limitedBody{resp.Body, maxPage}
	}
	return resp, err
}

// limitedBody fails after left bytes.
type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("%w: a list of more than %d bytes", failure.ErrTooLarge, maxPage)
	}
	return n, err
}

// printableError is an error with the text of a server or of the SDK, which may have control characters and
// signed URLs.
type printableError struct {
	err   error
	kinds []error // err, and the kind of its status
}

func printable(err error) error {
	e := &printableError{err, []error{err}}
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		switch answer.HTTPStatusCode() {
		case http.StatusUnauthorized, http.StatusForbidden:
			e.kinds = append(e.kinds, module.ErrUnauthorized)
		case http.StatusNotFound:
			e.kinds = append(e.kinds, module.ErrNotFound)
		}
	}
	return e
}

// Error returns a text that is safe to print.
func (e *printableError) Error() string {
	return weburl.Clean(weburl.RedactText(e.err.Error()), weburl.MaxShown)
}

// Unwrap returns the kinds.
func (e *printableError) Unwrap() []error { return e.kinds }
