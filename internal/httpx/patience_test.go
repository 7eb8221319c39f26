package httpx_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/httpx"
)

// Time in which a transport holds a request back is not the server's.
func TestWaiting(t *testing.T) {
	t.Parallel()
	const unlimited = -1
	for name, test := range map[string]struct {
		timeout time.Duration
		held    []time.Duration // one after the other
		server  time.Duration   // what it takes after that
		want    time.Duration   // when the answer comes
		ok      bool
	}{
		"not held":            {0, nil, 9 * time.Second, 9 * time.Second, true},
		"held":                {0, []time.Duration{time.Hour}, 9 * time.Second, time.Hour + 9*time.Second, true},
		"held twice":          {0, []time.Duration{time.Minute, time.Hour}, 9 * time.Second, 61*time.Minute + 9*time.Second, true},
		"held, then too slow": {0, []time.Duration{time.Minute}, 11 * time.Second, 70 * time.Second, false},
		"no timeout":          {unlimited, []time.Duration{time.Minute}, time.Hour, 61 * time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := client(t, serve(func(n int, r *http.Request) (*http.Response, error) {
					for _, d := range test.held {
						outer := httpx.Waiting(r.Context())
						inner := httpx.Waiting(r.Context()) // one transport over another
						time.Sleep(d / 2)
						inner()
						time.Sleep(d / 2)
						outer()
					}
					select {
					case <-time.After(test.server):
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
					return status(200, "{}")(n, r)
				}))
				c.Timeout, c.Retries = test.timeout, -1
				start := time.Now()
				_, err := c.Get(t.Context(), get(pkg))
				if took := time.Since(start); took != test.want || (err == nil) != test.ok {
					t.Errorf("after %v, want %v: %v", took, test.want, err)
				}
				if !test.ok && !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error(err)
				}
			})
		})
	}
	t.Run("context wins", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := client(t, serve(func(_ int, r *http.Request) (*http.Response, error) {
				defer httpx.Waiting(r.Context())()
				<-r.Context().Done()
				return nil, r.Context().Err()
			}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			start := time.Now()
			_, err := c.Get(ctx, get(pkg))
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
	})
	httpx.Waiting(t.Context())() // not of an attempt
}
