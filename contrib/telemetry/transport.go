package telemetry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/tofureg/tofureg/failure"
)

// Transport returns a transport that records a span and the duration of each request of base.
// If base is nil, [http.DefaultTransport] is used. Trace headers are not sent, because
// registries are operated by other organisations.
func (t *Telemetry) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return hiding{otelhttp.NewTransport(restoring{base},
		otelhttp.WithTracerProvider(t.tracers),
		otelhttp.WithMeterProvider(t.meters),
		otelhttp.WithPropagators(propagation.NewCompositeTextMapPropagator()),
		otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method }),
	)}
}

type urlKey struct{}

// hiding removes secrets from the URL and from errors, which the instrumentation records.
// restoring restores the real URL, and hides its errors.
type hiding struct{ next http.RoundTripper }

func (h hiding) RoundTrip(r *http.Request) (*http.Response, error) {
	shown := r.WithContext(context.WithValue(r.Context(), urlKey{}, r.URL))
	u, err := url.Parse(failure.RedactURL(r.URL))
	if r.Response != nil { // a server may repeat the token in the path of a redirect
		u = &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: "/..."}
	} else if err != nil {
		u = &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host}
	}
	shown.URL = u
	resp, err := h.next.RoundTrip(shown)
	if resp != nil {
		resp.Request = r
		resp.Body = body{resp.Body, reveal}
	}
	return resp, reveal(err)
}

type restoring struct{ next http.RoundTripper }

func (h restoring) RoundTrip(r *http.Request) (*http.Response, error) {
	if u, ok := r.Context().Value(urlKey{}).(*url.URL); ok {
		r = r.WithContext(r.Context())
		r.URL = u
	}
	resp, err := h.next.RoundTrip(r)
	if resp != nil && resp.Body != nil {
		resp.Body = body{resp.Body, hide}
	}
	return resp, hide(err)
}

// body changes the errors of a body.
type body struct {
	io.ReadCloser
	change func(error) error
}

func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	return n, b.change(err)
}

// hidden is an error whose text is its kind.
type hidden struct{ err error }

func (h hidden) Error() string { return kind(h.err) }

// ErrorType returns the value of the attribute error.type.
func (h hidden) ErrorType() string { return fmt.Sprintf("%T", h.err) }

func hide(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return hidden{err}
}

func reveal(err error) error {
	if h, ok := err.(hidden); ok {
		return h.err
	}
	return err
}
