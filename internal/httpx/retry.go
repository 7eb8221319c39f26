package httpx

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/flight"
)

const (
	firstWait = time.Second      // before the second attempt, halved at most by jitter
	maxWait   = 30 * time.Second // whatever a server asks for
)

// transient reports whether another attempt may succeed after err.
func transient(err error) bool {
	switch {
	case isA[*redirectError](err),
		errors.Is(err, fault.ErrTooLarge),
		errors.Is(err, fault.ErrChanged),
		errors.Is(err, fault.ErrOffline),
		errors.Is(err, http.ErrSchemeMismatch), // plain HTTP on the port for TLS
		isA[*tls.CertificateVerificationError](err),
		isA[x509.UnknownAuthorityError](err),
		isA[x509.HostnameError](err),
		isA[x509.CertificateInvalidError](err),
		isA[x509.SystemRootsError](err):
		return false
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return false // an answer, not a fault: the name does not exist
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return false // a TLS alert, such as for a missing client certificate
	}
	// net/http has no type for a header that it refuses to send.
	return !strings.Contains(err.Error(), "net/http: invalid header")
}

// transientStatus reports whether another attempt may bring another status.
func transientStatus(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
}

// backoff returns the wait after n+1 failed attempts, of which the last one brought
// resp, or no answer if that is nil: twice as long each time, of which up to a half is
// left out at random, so that clients that failed together do not come back together.
// If a busy server asks for a time, it is that and a little more, up to maxWait.
func backoff(n int, resp *http.Response) time.Duration {
	if resp != nil && (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable) {
		if d := min(RetryAfter(resp.Header, time.Now()), maxWait); d > 0 {
			return min(d+rand.N(d/10+1), maxWait)
		}
	}
	d := min(firstWait<<min(n, 10), maxWait)
	return d - rand.N(d/2)
}

// RetryAfter returns how long the headers ask to wait: Retry-After in seconds
// or as a date, else x-ratelimit-reset in seconds from now or since 1970. It is
// 0 if they do not, or if the time has passed.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if v := h.Get("Retry-After"); v != "" {
		if n, ok := parseSeconds(v); ok {
			return n
		}
		if at, err := http.ParseTime(v); err == nil {
			return max(0, at.Sub(now))
		}
	}
	const epoch = 1e8 * time.Second // as a span, three years: it must be a point in time
	n, ok := parseSeconds(h.Get("X-Ratelimit-Reset"))
	if ok && n >= epoch {
		n = max(0, time.Unix(0, 0).Add(n).Sub(now))
	}
	return n
}

// parseSeconds reads a whole number of seconds, of at most 272 years.
func parseSeconds(s string) (time.Duration, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 33)
	return time.Duration(n) * time.Second, err == nil || errors.Is(err, strconv.ErrRange)
}

// sleep waits for d, or fails at once where the deadline of ctx comes earlier.
func sleep(ctx context.Context, d time.Duration) error {
	if err := fits(ctx, d); err != nil {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fault.Ended(ctx)
	}
}

// fits returns nil if a wait of d can end before the deadline of ctx, or the
// error of that deadline.
func fits(ctx context.Context, d time.Duration) error {
	if at, ok := flight.Deadline(ctx); !ok || time.Until(at) > d {
		return nil
	}
	return fmt.Errorf("%w: it comes before the next attempt could, in %v", context.DeadlineExceeded, d.Round(time.Millisecond))
}
