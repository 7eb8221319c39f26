package s3

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/tofureg/tofureg/storage/bucket"
	"github.com/tofureg/tofureg/transport"
)

const defaultTimeout = 10 * time.Second

// permits returns an error if the location of o is at a host that is not permitted.
func (f *Fetcher) permits(o *object) error {
	host, _, err := svchost.Canonical(o.url)
	switch {
	case err != nil:
	case f.Hosts != nil:
		err = f.Hosts(host)
	case !o.amazon:
		err = errors.New("not a host of S3 at amazonaws.com; set Fetcher.Hosts to permit it")
	}
	if err != nil {
		return fmt.Errorf("%w: %q: %w", ErrHost, failure.Printable(o.url.Host, maxShown), err)
	}
	return f.allowed(o, o.url)
}

// allowed returns an error if no request for o may go to u.
func (f *Fetcher) allowed(o *object, u *url.URL) error {
	t := f.settings()
	if err := bucket.HTTPS(t.AllowHTTP)(u); err != nil {
		return fmt.Errorf("%w of bucket %q", err, o.bucket)
	}
	host, _, err := svchost.Canonical(u)
	if err == nil && t.VetoHost != nil {
		err = t.VetoHost(host)
	}
	if err != nil {
		return fmt.Errorf("%w: %q: %w", ErrHost, failure.Printable(u.Host, maxShown), err)
	}
	return nil
}

func (f *Fetcher) settings() *transport.Settings {
	if f.Transport == nil {
		return &transport.Settings{}
	}
	return f.Transport
}

// guarded returns the client for the requests of the SDK, which are lists of objects.
func (f *Fetcher) guarded(o *object) *http.Client {
	t := f.settings()
	guard := &bucket.Guard{
		Check:    func(u *url.URL) error { return f.allowed(o, u) },
		IsObject: isObject,
	}
	c := guard.Client(t.HTTP)
	c.Timeout = max(0, cmp.Or(t.Timeout, defaultTimeout))
	return c
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
			e.kinds = append(e.kinds, failure.ErrUnauthorized)
		case http.StatusNotFound:
			e.kinds = append(e.kinds, failure.ErrNotFound)
		}
	}
	return e
}

// Error returns a text that is safe to print.
func (e *printableError) Error() string {
	return failure.Printable(failure.RedactText(e.err.Error()), maxShown)
}

// Unwrap returns the kinds.
func (e *printableError) Unwrap() []error { return e.kinds }

const maxShown = 512 // bytes of a text of another party in an error
