package httpx

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
)

const (
	firstWait = time.Second      // before the second attempt, without jitter
	maxWait   = 30 * time.Second // also if a server asks for more
)

// loop makes the attempts of a fetch. For its http.Client it is a transport, which has no connections to
// close: go-retryablehttp would close those of other requests after each failure.
type loop struct {
	fetch *fetch
	last  *attempt // nil before the first
}

// do makes attempts until one succeeds or no other may follow, and returns the last one. The loop and
// its waits are those of go-retryablehttp, which does what RoundTrip has decided. It gets no Logger, because
// it would log secrets in URLs: announce logs.
func (f *fetch) do(ctx context.Context) *attempt {
	l := &loop{fetch: f}
	rc := &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: l},
		RetryMax:     f.client.maxAttempts(f.document),
		CheckRetry:   func(context.Context, *http.Response, error) (bool, error) { return l.last.again, nil },
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return l.last.wait },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	req := (&http.Request{
		Method: cmp.Or(f.req.Method, http.MethodGet),
		URL:    f.url,
		Host:   f.url.Host,
		Header: http.Header{},
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	_, _ = rc.Do(&retryablehttp.Request{Request: req}) // the results are in l.last
	a := l.last
	if a.again { // ctx ended during the wait
		a.failed = a.failed.Because(withLast(fault.Ended(ctx), a.failed.Err))
	}
	return a
}

// RoundTrip makes an attempt and decides whether and when another one follows.
func (l *loop) RoundTrip(req *http.Request) (*http.Response, error) {
	f, ctx, before := l.fetch, req.Context(), l.last
	a := f.attempt(req)
	l.last = a
	switch {
	case a.failed == nil:
		return a.resp, nil
	case ctx.Err() != nil:
		a.failed = ended(ctx, a.failed, before)
	case a.transient && f.earlier+f.made < f.client.maxAttempts(f.document):
		a.wait = backoff(f.earlier+f.made-1, a.resp)
		if err := f.announce(ctx, a); err != nil {
			a.failed = a.failed.Because(withLast(err, a.failed.Err))
			break
		}
		a.again = true
	}
	return nil, a.failed
}

// ended returns the error of an attempt during which ctx ended. If that is why the attempt failed, it
// does not count, and the error includes the failure of the attempt before, which may be nil.
func ended(ctx context.Context, e *failure.RequestError, before *attempt) *failure.RequestError {
	last := e.Err
	if errors.Is(last, ctx.Err()) || errors.Is(last, context.Cause(ctx)) {
		last = nil
		if before != nil {
			last = before.failed.Err
		}
		e.Attempts--
	}
	return e.Because(withLast(fault.Ended(ctx), last))
}

// withLast adds the error of the last attempt to err, which ended the attempts. The
// error last may be nil.
func withLast(err, last error) error {
	if last == nil {
		return err
	}
	return fmt.Errorf("%w; before that: %w", err, last)
}

// transient reports whether another attempt may succeed after err.
func transient(err error) bool {
	switch {
	case isA[*redirectError](err),
		errors.Is(err, failure.ErrTooLarge),
		errors.Is(err, failure.ErrChanged),
		errors.Is(err, failure.ErrOffline),
		errors.Is(err, http.ErrSchemeMismatch), // plain HTTP on the port for TLS
		isA[*tls.CertificateVerificationError](err),
		isA[x509.UnknownAuthorityError](err),
		isA[x509.HostnameError](err),
		isA[x509.CertificateInvalidError](err),
		isA[x509.SystemRootsError](err):
		return false
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return false // the name does not exist
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return false // TLS alert, such as for a missing client certificate
	}
	// net/http has no type for the error of an invalid header.
	return !strings.Contains(err.Error(), "net/http: invalid header")
}

// transientStatus reports whether another attempt may bring another status.
func transientStatus(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
}

// backoff returns the wait after n+1 failed attempts. It doubles each time, and up to a half is
// subtracted at random, so that clients do not retry at the same time. The response of the last
// attempt may be nil. If a busy server asks for a time, the wait is that time plus up to a tenth,
// at most maxWait.
func backoff(n int, resp *http.Response) time.Duration {
	if resp != nil && (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable) {
		if d := min(RetryAfter(resp.Header, time.Now()), maxWait); d > 0 {
			return min(d+rand.N(d/10+1), maxWait)
		}
	}
	d := min(firstWait<<min(n, 10), maxWait)
	return d - rand.N(d/2)
}

// RetryAfter returns the time to wait that the headers state: Retry-After in seconds or as a date, or
// X-RateLimit-Reset in seconds from now or since 1970. It returns 0 if they state no time.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if v := h.Get("Retry-After"); v != "" {
		if n, ok := parseSeconds(v); ok {
			return n
		}
		if at, err := http.ParseTime(v); err == nil {
			return max(0, at.Sub(now))
		}
	}
	const epoch = 1e8 * time.Second // three years: larger numbers are times since 1970
	n, ok := parseSeconds(h.Get("X-Ratelimit-Reset"))
	if ok && n >= epoch {
		n = max(0, time.Unix(0, 0).Add(n).Sub(now))
	}
	return n
}

// parseSeconds parses a number of seconds. A larger number than 272 years is 272 years.
func parseSeconds(s string) (time.Duration, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 33)
	return time.Duration(n) * time.Second, err == nil || errors.Is(err, strconv.ErrRange)
}

// announce logs that another attempt follows the failed attempt a, after its wait. It returns an error
// instead if the deadline of ctx is within the wait.
func (f *fetch) announce(ctx context.Context, a *attempt) error {
	if at, ok := flight.Deadline(ctx); ok && time.Until(at) <= a.wait {
		return fmt.Errorf("%w: before the next attempt in %v", fault.ErrNoTime, a.wait.Round(time.Millisecond))
	}
	f.log(ctx, "http retry", a, slog.Duration("wait", a.wait))
	return nil
}
