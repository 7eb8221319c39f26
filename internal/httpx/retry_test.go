package httpx_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/webtest"
)

// Waits double up to 30 seconds, and jitter subtracts up to a half.
func TestBackoff(t *testing.T) {
	t.Parallel()
	different := make(map[time.Duration]bool)
	for range 5 {
		synctest.Test(t, func(t *testing.T) {
			s := serve(fails(errReset))
			c := client(t, s)
			c.Retries = 8
			_, err := c.Document(t.Context(), get("https://registry.example.com/"))
			asError(t, err)
			at := s.Times()
			for i, most := range []time.Duration{1, 2, 4, 8, 16, 30, 30, 30} {
				most *= time.Second
				wait := at[i+1].Sub(at[i])
				if wait > most || wait < most/2 {
					t.Errorf("wait %d is %v, want between %v and %v", i+1, wait, most/2, most)
				}
				different[wait] = true
			}
		})
	}
	if len(different) < 30 {
		t.Errorf("only %d different waits of 40: no jitter", len(different))
	}
}

func TestStatedWaits(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) func() string {
		return func() string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	}
	is := func(s string) func() string { return func() string { return s } }
	epoch := func(d time.Duration) func() string {
		return func() string { return fmt.Sprint(time.Now().Add(d).Unix()) }
	}
	const ordinary = -1
	for _, test := range []struct {
		name   string
		status int
		header string
		value  func() string
		want   time.Duration // and up to a tenth more
		field  time.Duration // RetryAfter of the error, ordinary: not checked
	}{
		{"seconds", 429, "Retry-After", is("7"), 7 * time.Second, 7 * time.Second},
		{"seconds with 503", 503, "Retry-After", is("20"), 20 * time.Second, 20 * time.Second},
		{"date", 429, "Retry-After", in(12 * time.Second), 12 * time.Second, ordinary},
		{"date of RFC 850", 429, "Retry-After", func() string {
			return time.Now().Add(12 * time.Second).UTC().Format("Monday, 02-Jan-06 15:04:05 GMT")
		}, 12 * time.Second, ordinary},
		{"capped", 429, "Retry-After", is("99999999"), 30 * time.Second, 99999999 * time.Second},
		{"beyond any number", 429, "Retry-After", is("99999999999999999999999999"), 30 * time.Second, (1<<33 - 1) * time.Second},
		{"beyond any span", 429, "Retry-After", is("9999999999999999"), 30 * time.Second, (1<<33 - 1) * time.Second},
		{"date capped", 503, "Retry-After", in(1000 * time.Hour), 30 * time.Second, ordinary},
		{"zero", 429, "Retry-After", is("0"), ordinary, 0},
		{"past", 429, "Retry-After", in(-time.Hour), ordinary, 0},
		{"negative", 429, "Retry-After", is("-5"), ordinary, 0},
		{"not a number", 429, "Retry-After", is("soon"), ordinary, 0},
		{"not for 500", 500, "Retry-After", is("20"), ordinary, 20 * time.Second},
		{"before a reset", 429, "X-RateLimit-Reset: 20|Retry-After", is("3"), 3 * time.Second, 3 * time.Second},
		{"reset in seconds", 429, "x-ratelimit-reset", is("9"), 9 * time.Second, 9 * time.Second},
		{"reset since 1970", 429, "X-RateLimit-Reset", epoch(9 * time.Second), 9 * time.Second, ordinary},
		{"largest reset in seconds", 429, "X-RateLimit-Reset", is("99999999"), 30 * time.Second, 99999999 * time.Second},
		{"smallest reset since 1970", 429, "X-RateLimit-Reset", is("100000000"), ordinary, 0},
		{"reset in the past", 429, "X-RateLimit-Reset", epoch(-time.Minute), ordinary, 0},
		{"reset capped", 503, "X-RateLimit-Reset", epoch(time.Hour), 30 * time.Second, ordinary},
	} {
		bubble(t, test.name, func(t *testing.T) {
			s := serve(func(n int, r *http.Request) (*http.Response, error) {
				return status(test.status, "", strings.Split(test.header+": "+test.value(), "|")...)(n, r)
			})
			c := client(t, s)
			c.Retries = 1
			_, err := c.Document(t.Context(), get("https://registry.example.com/"))
			e, at := asError(t, err), s.Times()
			wait, least, most := at[1].Sub(at[0]), test.want, test.want+test.want/10+1
			switch {
			case test.want == ordinary:
				least, most = time.Second/2, time.Second
			case test.want == 30*time.Second:
				most = test.want
			}
			if wait < least || wait > most {
				t.Errorf("waited %v, want between %v and %v", wait, least, most)
			}
			if test.field != ordinary && e.RetryAfter != test.field {
				t.Errorf("RetryAfter %v, want %v", e.RetryAfter, test.field)
			}
		})
	}
}

// Clients that should wait for the same time do not retry at the same time.
func TestStatedWaitsDiffer(t *testing.T) {
	t.Parallel()
	different := make(map[time.Duration]bool)
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			s := serve(status(429, "", "Retry-After: 20"), status(200, ""))
			if _, err := client(t, s).Document(t.Context(), get("https://registry.example.com/")); err != nil {
				t.Error(err)
			}
			different[time.Since(start)] = true
		})
	}
	if len(different) < 5 {
		t.Errorf("only %d different waits of 10: no jitter", len(different))
	}
}

func TestNeverRetried(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"unknown authority":   &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
		"bare authority":      x509.UnknownAuthorityError{},
		"wrong name":          x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"other.example.com"}}, Host: "registry.example.com"},
		"expired certificate": x509.CertificateInvalidError{Reason: x509.Expired},
		"no system roots":     x509.SystemRootsError{},
		"alert":               &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")},
		"plain HTTP":          http.ErrSchemeMismatch,
		"no such host":        &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}},
		"invalid header":      errors.New(`net/http: invalid header field value for "X-A"`),
	} {
		bubble(t, name, func(t *testing.T) {
			s := serve(fails(err))
			start := time.Now()
			_, got := client(t, s).Document(t.Context(), get("https://registry.example.com/"))
			if e := asError(t, got); e.Attempts != 1 || len(s.Requests()) != 1 || time.Since(start) != 0 {
				t.Errorf("%d requests in %v: %v", len(s.Requests()), time.Since(start), got)
			}
			if !errors.Is(got, err) && name != "wrong name" && name != "unknown authority" {
				if _, ok := errors.AsType[x509.SystemRootsError](got); !ok {
					t.Errorf("errors.Is does not find the cause of %v", got)
				}
			}
		})
	}
	// Other DNS errors are retried.
	synctest.Test(t, func(t *testing.T) {
		s := serve(fails(&net.DNSError{Err: "server misbehaving", IsTemporary: true}), status(200, ""))
		if _, err := client(t, s).Document(t.Context(), get("https://registry.example.com/")); err != nil {
			t.Error(err)
		}
	})
}

func TestContextWins(t *testing.T) {
	t.Parallel()
	because := errors.New("the user pressed a key")
	for name, test := range map[string]struct {
		step     handler
		attempts int // that failed, and not because of the context
	}{"while waiting": {status(503, "busy"), 1}, "while asking": {hangs, 0}} {
		bubble(t, name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(100*time.Millisecond, func() { cancel(because) })
			start := time.Now()
			s := serve(test.step)
			_, err := client(t, s).Document(ctx, get("https://registry.example.com/"))
			e := asError(t, err)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, because) || time.Since(start) != 100*time.Millisecond {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
			if len(s.Requests()) != 1 || e.Attempts != test.attempts {
				t.Errorf("%d requests, %d failed attempts, want 1, %d", len(s.Requests()), e.Attempts, test.attempts)
			}
			if name == "while waiting" && (e.Status != 503 || !strings.Contains(err.Error(), `HTTP status 503: context canceled: the user pressed a key; before that: service unavailable, the server says "busy"`)) {
				t.Errorf("the error lacks the last answer: %v", err)
			}
		})
	}
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := serve(status(200, ""))
		_, err := client(t, s).Document(ctx, get("https://registry.example.com/"))
		if e := asError(t, err); !errors.Is(err, context.Canceled) || len(s.Requests()) != 0 || e.Attempts != 0 {
			t.Errorf("error %v, %d requests", err, len(s.Requests()))
		}
	})
}

// A wait beyond the deadline does not start.
func TestDeadlineShorterThanTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		s := serve(status(429, "", "Retry-After: 20"))
		_, err := client(t, s).Document(ctx, get("https://registry.example.com/"))
		e := asError(t, err)
		if time.Since(start) != 0 || !errors.Is(err, fault.ErrNoTime) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if e.Status != 429 || e.RetryAfter != 20*time.Second || e.Attempts != 1 || !strings.Contains(err.Error(), "status 429") {
			t.Errorf("%+v", e)
		}
	})
}

// The error has the status of the last attempt, or 0.
func TestLastStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve(status(502, ""), fails(errReset))
		_, err := client(t, s).Document(t.Context(), get("https://registry.example.com/"))
		e := asError(t, err)
		if e.Status != 0 || e.Attempts != 3 || !errors.Is(err, errReset) || !strings.HasSuffix(err.Error(), "(3 attempts)") {
			t.Errorf("%+v: %v", e, err)
		}
	})
}

// An answer that carries no attempt, as a later go-retryablehttp may pass, ends the attempts with the error.
func TestForeignAnswer(t *testing.T) {
	t.Parallel()
	for name, resp := range map[string]*http.Response{
		"nil": nil, "without request": {}, "without attempt": {Request: must.Get(http.NewRequest("GET", "https://registry.example.com/", nil))(t)},
	} {
		if again, after, err := httpx.DecideOn(resp, errReset); again || err != errReset || after <= 0 {
			t.Errorf("%s: again %t with error %v after %v, want false, %v and a wait", name, again, err, after, errReset)
		}
	}
}

// After the last attempt the connection pool is kept, although go-retryablehttp would empty it.
func TestPoolSurvivesFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conns := 0
		tr := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/busy":
				w.WriteHeader(http.StatusServiceUnavailable)
				io.WriteString(w, "busy")
			case "/moved":
				http.Redirect(w, r, "/ok", http.StatusFound)
			case "/chunks":
				w.(http.Flusher).Flush()
				fallthrough
			case "/declared":
				w.Write(make([]byte, 100_000))
			}
		}))
		dial := tr.DialTLSContext
		tr.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conns++
			return dial(ctx, network, addr)
		}
		c := client(t, tr)
		for range 3 {
			must.Get(c.Document(t.Context(), get("https://registry.example.com/moved")))(t)
			_, err := c.Document(t.Context(), get("https://registry.example.com/busy"))
			asError(t, err)
			for _, path := range []string{"chunks", "declared"} {
				if got, _, _, err := download(t, c, get("https://registry.example.com/"+path)); err != nil || len(got) != 100_000 {
					t.Errorf("%s: %d bytes, %v", path, len(got), err)
				}
			}
		}
		if conns != 1 {
			t.Errorf("%d connections for 21 requests in a row", conns)
		}
	})
}

func TestNoAttemptForWhatIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		address string
		wraps   error
	}{
		{"http://registry.example.com/", failure.ErrInsecure},
		{"ftp://registry.example.com/", failure.ErrInsecure},
		{"file:///etc/passwd", failure.ErrInsecure},
		{"//registry.example.com/x", failure.ErrInsecure},
		{"/just/a/path", failure.ErrInsecure},
		{"https:opaque", nil},
		{"https:///no/host", nil},
		{"https://:443/", nil},
		{"https://registry.example.com:0/", nil},
		{"https://registry.example.com:65536/", nil},
		{"https://b\u00fc\u200d\u200dcher..example.com/", nil},
		{"https://10.254.169.254/latest", errVeto},
		{"https://registry.example.com/" + strings.Repeat("x", 40_000), failure.ErrTooLarge},
	} {
		s := serve(status(200, ""))
		c := client(t, s)
		c.VetoHost = vetoPrivate
		r := withToken(test.address)
		_, err := c.Document(t.Context(), r)
		e := asError(t, err)
		if e.Attempts != 0 || e.HadToken || len(s.Requests()) != 0 {
			t.Errorf("%.50s: %d requests", test.address, len(s.Requests()))
		}
		if test.wraps != nil && !errors.Is(err, test.wraps) {
			t.Errorf("%.50s: %v", test.address, err)
		}
		if _, err = c.Open(t.Context(), r); err == nil || len(s.Requests()) != 0 {
			t.Errorf("Open %.50s: %v", test.address, err)
		}
	}
	r := get("https://x.example.com/")
	r.URL = nil
	_, err := client(t, serve(status(200, ""))).Document(t.Context(), r)
	asError(t, err)
}

func TestLogger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := serve(status(503, "busy "+secret), fails(errReset), redirect("https://cdn.example.com/x?sig=sig-value"), status(200, "{}"))
		c := client(t, s)
		c.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		r := withToken("https://registry.example.com/v1/x?q=query-value#fragment-value")
		must.Get(c.Document(t.Context(), r))(t)
		for line := range strings.Lines(out.String()) {
			leaks(t, strings.TrimSuffix(line, "\n"))
		}
		for _, want := range []string{
			`attempt=1 status=503 error="service unavailable, the server says`, `msg="http retry" wait=`, `error="connection reset by peer"`,
			"url=https://registry.example.com/v1/x?... attempt=2", "url=https://cdn.example.com/x?... attempt=3", "took=",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
		out.Reset()
		c.Logger = slog.New(slog.NewTextHandler(&out, nil))
		if _, err := c.Document(t.Context(), r); err != nil || out.Len() > 0 {
			t.Errorf("%v; logged above debug: %s", err, &out)
		}
	})
}

// holding is a transport that delays requests several times.
type holding struct {
	http.RoundTripper
	times []time.Duration
}

func (h holding) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, d := range h.times {
		outer := httpx.Pause(r.Context())
		inner := httpx.Pause(r.Context()) // one transport over another
		select {
		case <-time.After(d):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		inner()
		outer()
	}
	return h.RoundTripper.RoundTrip(r)
}

// A delay between Pause and resume does not count towards the timeout.
func TestWaiting(t *testing.T) {
	t.Parallel()
	const unlimited = -1
	for name, test := range map[string]struct {
		timeout time.Duration
		held    []time.Duration
		server  time.Duration // what it takes after that
		want    time.Duration // when the answer comes
		err     error
	}{
		"not held":            {0, nil, 9 * time.Second, 9 * time.Second, nil},
		"held":                {0, []time.Duration{time.Hour}, 9 * time.Second, time.Hour + 9*time.Second, nil},
		"held twice":          {0, []time.Duration{time.Minute, time.Hour}, 9 * time.Second, 61*time.Minute + 9*time.Second, nil},
		"held, then too slow": {0, []time.Duration{time.Minute}, 11 * time.Second, 70 * time.Second, os.ErrDeadlineExceeded},
		"no timeout":          {unlimited, []time.Duration{time.Minute}, time.Hour, 61 * time.Minute, nil},
		"context wins":        {0, []time.Duration{time.Hour, 24 * time.Hour}, 0, 2 * time.Hour, context.DeadlineExceeded},
	} {
		bubble(t, name, func(t *testing.T) {
			s := serve(webtest.After(test.server, status(200, "{}")))
			c := client(t, s)
			c.HTTP.Transport = holding{s, test.held}
			c.Timeout, c.Retries = test.timeout, -1
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
			defer cancel()
			start := time.Now()
			_, err := c.Document(ctx, get(pkg))
			if took := time.Since(start); took != test.want || !errors.Is(err, test.err) {
				t.Errorf("Get returned %v after %v, want %v after %v", err, took, test.err, test.want)
			}
		})
	}
}

// TestPausesOverlap: a transport may make two requests for one, and return before one of them goes on. Its
// end does not start the timeout again, which would end the download.
func TestPausesOverlap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve(func(n int, r *http.Request) (*http.Response, error) {
			return sends(200, "he", wire{stalls: true}, -1)(n, r)
		})
		c := client(t, s)
		c.Timeout, c.Retries = 10*time.Second, -1
		c.HTTP.Transport = webtest.Handler(func(_ int, r *http.Request) (*http.Response, error) {
			pause := func(d time.Duration) {
				resume := httpx.Pause(r.Context())
				time.Sleep(d)
				resume()
			}
			go pause(2 * time.Minute)
			go pause(time.Second)
			pause(time.Minute)
			return s.RoundTrip(r)
		})
		start := time.Now()
		b := must.Get(c.Open(t.Context(), get(pkg)))(t)
		defer b.Close()
		_, err := io.ReadAll(b)
		if took := time.Since(start); took != 90*time.Second || !strings.Contains(err.Error(), "no data within 30s") {
			t.Errorf("download ended after %v: %v; want after 90s, since the server was silent for 30s", took, err)
		}
		time.Sleep(time.Minute) // the other goroutine
	})
}

// TestRetries checks the attempts for documents and archives.
func TestRetries(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ retries, archives, wantDocument, wantArchive int }{
		{0, 0, 3, 3}, {4, 0, 5, 5}, {-1, 0, 1, 1}, {-9, 0, 1, 1}, {1, 3, 2, 4}, {-1, 2, 1, 3}, {2, -1, 3, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := serve(status(503, ""))
			c := client(t, s)
			c.Retries, c.ArchiveRetries = test.retries, test.archives
			_, err := c.Document(t.Context(), get(start))
			documents := asError(t, err).Attempts
			_, err = c.Open(t.Context(), get(start))
			if archives := asError(t, err).Attempts; documents != test.wantDocument || len(s.Requests()) != documents+archives || archives != test.wantArchive {
				t.Errorf("%+v: %d and %d attempts", test, documents, archives)
			}
		})
	}
}

// TestManyRetries: the largest number of retries is valid.
func TestManyRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := client(t, serve(status(503, ""), status(200, "")))
		c.Retries = math.MaxInt
		if _, err := c.Document(t.Context(), get(start)); err != nil {
			t.Errorf("Get with %d retries: %v", c.Retries, err)
		}
	})
}

// TestTimeoutOfTransport: a timeout of the transport itself, such as ResponseHeaderTimeout, is no error
// of a context.
func TestTimeoutOfTransport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := client(t, serve(fails(fmt.Errorf("waiting for headers: %w", context.DeadlineExceeded))))
		_, err := c.Document(t.Context(), get(start))
		if e := asError(t, err); !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || e.Attempts != 3 {
			t.Errorf("Get = %v after %d attempts, want os.ErrDeadlineExceeded after 3", err, e.Attempts)
		}
	})
}
