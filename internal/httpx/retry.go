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

// do makes attempts until one succeeds or no other may follow, and returns the last one. The loop and its waits are
// as in go-retryablehttp. It gets no Logger, because it would log secrets in URLs: announce logs.
func (f *fetch) do(ctx context.Context) *attempt {
	made := &attempts{fetch: f}
	rc := &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: made},
		RetryMax:     f.client.maxAttempts(f.document), // checkRetry ends before
		CheckRetry:   f.checkRetry,
		Backoff:      wait,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	req := (&http.Request{
		Method: cmp.Or(f.req.Method, http.MethodGet),
		URL:    f.url,
		Host:   f.url.Host,
		Header: http.Header{},
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	resp, err := rc.Do(&retryablehttp.Request{Request: req})
	a := attemptOf(resp)
	switch {
	case a != nil:
	case made.last != nil && ctx.Err() != nil: // ctx ended during a wait
		a = made.last
		a.failed = a.failed.Because(withLast(fault.Ended(ctx), a.failed.Err))
	default:
		a = &attempt{url: f.url, failed: f.fail(f.url, nil, cmp.Or(err, errors.New("no attempt was made")))}
	}
	return a
}

// attempts is the transport that makes the attempts of a fetch. It has no idle connections to close:
// go-retryablehttp would close connections of other requests after each failure.
type attempts struct {
	fetch *fetch
	last  *attempt // nil before the first
}

// carried is the context key of the attempt that an answer carries.
type carried struct{}

// RoundTrip makes an attempt, and returns an answer that carries it. The answer is never a redirect, which http.Client
// would follow.
func (t *attempts) RoundTrip(req *http.Request) (*http.Response, error) {
	a := t.fetch.attempt(req)
	if t.last != nil {
		a.before = t.last.failed.Err
	}
	t.last = a
	return &http.Response{
		StatusCode: http.StatusOK, Proto: req.Proto, ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody,
		Request: req.WithContext(context.WithValue(req.Context(), carried{}, a)),
	}, nil
}

// attemptOf returns the attempt that resp, which may be nil, carries, or nil.
func attemptOf(resp *http.Response) *attempt {
	if resp == nil || resp.Request == nil {
		return nil
	}
	a, _ := resp.Request.Context().Value(carried{}).(*attempt)
	return a
}

// checkRetry decides whether another attempt follows the one that resp carries, and when.
func (f *fetch) checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	a := attemptOf(resp)
	switch {
	case a == nil:
		return false, err
	case a.failed == nil:
	case ctx.Err() != nil:
		a.failed = ended(ctx, a)
	case a.transient && f.earlier+f.made < f.client.maxAttempts(f.document):
		a.wait = backoff(f.earlier+f.made-1, a.resp)
		if err = f.announce(ctx, a); err == nil {
			return true, nil
		}
		a.failed = a.failed.Because(withLast(err, a.failed.Err))
	}
	return false, nil
}

// wait returns the wait after the attempt that resp carries.
func wait(least, _ time.Duration, _ int, resp *http.Response) time.Duration {
	if a := attemptOf(resp); a != nil {
		return a.wait
	}
	return max(least, firstWait)
}

// ended returns the error of an attempt during which ctx ended. If that is why the attempt failed, it
// does not count, and the error includes the failure of the attempt before.
func ended(ctx context.Context, a *attempt) *failure.RequestError {
	e, last := a.failed, a.failed.Err
	if errors.Is(last, ctx.Err()) || errors.Is(last, context.Cause(ctx)) {
		last = a.before
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
