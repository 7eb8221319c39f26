package httpx_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"
)

// holding is a transport that delays requests several times.
type holding struct {
	http.RoundTripper
	times []time.Duration
}

func (h holding) RoundTripWaiting(r *http.Request, waiting func() func()) (*http.Response, error) {
	for _, d := range h.times {
		outer := waiting()
		inner := waiting() // one transport over another
		select {
		case <-time.After(d):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		inner()
		outer()
	}
	return h.RoundTrip(r)
}

// A delay by a Waiter does not count towards the timeout.
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
			s := serve(func(n int, r *http.Request) (*http.Response, error) {
				select {
				case <-time.After(test.server):
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
				return status(200, "{}")(n, r)
			})
			c := client(t, s)
			c.HTTP.Transport = holding{s, test.held}
			c.Timeout, c.Retries = test.timeout, -1
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
			defer cancel()
			start := time.Now()
			_, err := c.Get(ctx, get(pkg))
			if took := time.Since(start); took != test.want || !errors.Is(err, test.err) {
				t.Errorf("Get returned %v after %v, want %v after %v", err, took, test.err, test.want)
			}
		})
	}
}
