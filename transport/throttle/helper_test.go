package throttle_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/transport/throttle"
)

const example = "https://registry.example.com/"

// ok answers with 200.
var ok = webtest.Status(200, "ok")

// busy answers with 503 and the time after which to ask again, in seconds.
func busy(after string) webtest.Handler { return webtest.Status(503, "", "Retry-After: "+after) }

// since returns the time of each request after start, in milliseconds. The limiter computes
// with fractions and may be a nanosecond off.
func since(s *webtest.Server, start time.Time) (list []int64) {
	for _, at := range s.Times() {
		list = append(list, at.Sub(start).Round(time.Millisecond).Milliseconds())
	}
	return list
}

// ask makes a request and reads its body.
func ask(ctx context.Context, t testing.TB, tr *throttle.Transport, url string) error {
	t.Helper()
	resp, err := tr.RoundTrip(request(ctx, t, url))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func request(ctx context.Context, t testing.TB, url string) *http.Request {
	t.Helper()
	return must.Get(http.NewRequestWithContext(ctx, http.MethodGet, url, nil))(t)
}

// all makes n requests at the same time and waits for them.
func all(t *testing.T, tr *throttle.Transport, n int, url string) {
	t.Helper()
	webtest.Together(n, func(int) {
		if err := ask(t.Context(), t, tr, url); err != nil {
			t.Error(err)
		}
	})
}
