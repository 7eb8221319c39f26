package throttle_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/transport/throttle"
)

const example = "https://registry.example.com/"

// base is a transport that records the times of requests.
type base struct {
	answer func(n int, req *http.Request) (*http.Response, error) // nil: 200 and "ok"

	mu     sync.Mutex
	at     []time.Time
	now    int // running requests
	most   int // maximum of now
	closed int // calls of CloseIdleConnections
}

func (b *base) RoundTrip(req *http.Request) (*http.Response, error) {
	b.mu.Lock()
	n := len(b.at)
	b.at = append(b.at, time.Now())
	b.now++
	b.most = max(b.most, b.now)
	b.mu.Unlock()
	resp, err := reply(200, io.NopCloser(strings.NewReader("ok"))), error(nil)
	if b.answer != nil {
		resp, err = b.answer(n, req)
	}
	if err != nil {
		b.done()
		return nil, err
	}
	if resp.Body == http.NoBody {
		b.done()
		return resp, nil
	}
	resp.Body = &noted{resp.Body, sync.OnceFunc(b.done)}
	return resp, nil
}

func (b *base) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now--
}

func (b *base) CloseIdleConnections() { b.closed++ }

// since returns the time of each request after start, in milliseconds. The limiter computes
// with fractions and may be a nanosecond off.
func (b *base) since(start time.Time) []int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []int64
	for _, at := range b.at {
		list = append(list, at.Sub(start).Round(time.Millisecond).Milliseconds())
	}
	return list
}

type noted struct {
	io.ReadCloser
	closed func()
}

func (n *noted) Close() error { n.closed(); return n.ReadCloser.Close() }

// reply returns a response. The header is a list of names and values.
func reply(status int, body io.ReadCloser, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: body, ContentLength: -1}
}

// slow answers after d.
func slow(d time.Duration) func(int, *http.Request) (*http.Response, error) {
	return func(_ int, req *http.Request) (*http.Response, error) {
		select {
		case <-time.After(d):
			return reply(200, io.NopCloser(strings.NewReader("ok"))), nil
		case <-req.Context().Done():
			return nil, context.Cause(req.Context())
		}
	}
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
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if err := ask(t.Context(), t, tr, url); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// bubble runs a parallel subtest in a bubble of synctest.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
}
