package telemetry

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
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

// hiding removes secrets from the URL, which the instrumentation records. restoring restores
// the real URL.
type hiding struct{ next http.RoundTripper }

func (h hiding) RoundTrip(r *http.Request) (*http.Response, error) {
	shown := r.WithContext(context.WithValue(r.Context(), urlKey{}, r.URL))
	shown.URL = redacted(r.URL)
	resp, err := h.next.RoundTrip(shown)
	if resp != nil {
		resp.Request = r
	}
	return resp, err
}

type restoring struct{ next http.RoundTripper }

func (h restoring) RoundTrip(r *http.Request) (*http.Response, error) {
	if u, ok := r.Context().Value(urlKey{}).(*url.URL); ok {
		r = r.WithContext(r.Context())
		r.URL = u
	}
	return h.next.RoundTrip(r)
}

// token matches a path segment that is a JWT, or long enough to be a secret.
var token = regexp.MustCompile(`^(eyJ[\w-]+\.[\w-]+\.[\w-]*|[\w.~%+=-]{100,})$`)

// redacted returns u without user information, query and fragment, and with tokens in its
// path masked.
func redacted(u *url.URL) *url.URL {
	segments := strings.Split(u.EscapedPath(), "/")
	for i, s := range segments {
		if token.MatchString(s) {
			segments[i] = "REDACTED"
		}
	}
	path := strings.Join(segments, "/")
	plain, err := url.PathUnescape(path)
	if err != nil {
		plain, path = "", ""
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: plain, RawPath: path}
}
