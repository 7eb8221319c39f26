package doccache_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/transport/doccache"
)

// TestWait: of those who come while a request is under way none makes another one, unless
// what comes must not be shared or they have waited long enough.
func TestWait(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		header   http.Header
		latency  time.Duration
		requests int
	}{
		{"fresh", headers("Cache-Control", "max-age=60"), 4 * second, 1},
		{"nothing stated", headers(), 4 * second, 1},
		{"no-cache", headers("Cache-Control", "no-cache"), 4 * second, 4},
		{"no-store", headers("Cache-Control", "no-store"), second, 4},
		{"archive", headers("Content-Type", "application/zip"), second, 4},
		{"not so long", headers("Cache-Control", "max-age=60"), 6 * second, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				o := &origin{answer: func(n int, _ *http.Request) (*http.Response, error) {
					time.Sleep(test.latency)
					return reply(http.StatusOK, test.header.Clone(), `{}`), nil
				}}
				var wg sync.WaitGroup
				for i := range 4 {
					time.Sleep(time.Duration(i) * second / 10)
					wg.Go(func() {
						tr := &doccache.Transport{Base: o, Dir: dir}
						if _, body := get(t, tr, request(t, doc)); body != `{}` {
							t.Errorf("%q", body)
						}
					})
				}
				wg.Wait()
				if n := o.count(); n != test.requests {
					t.Errorf("%d requests, want %d", n, test.requests)
				}
				clean(t, dir)
			})
		})
	}
}

// TestWaitForNewer: what another request has brought is not the answer for one that wants
// something newer than that.
func TestWaitForNewer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		control, age string
		requests     int
	}{
		{"max-age=60", "3600", 2},
		{"max-age=60", "60", 2}, // with the second that it took
		{"max-age=60", "58", 1},
		{"max-age=0", "", 2},
		{"no-cache", "", 2},
		{"", "3600", 1},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			o := &origin{answer: func(int, *http.Request) (*http.Response, error) {
				time.Sleep(second)
				return reply(http.StatusOK, headers("Age", test.age), `{}`), nil
			}}
			tr := &doccache.Transport{Base: o, Dir: dir}
			var wg sync.WaitGroup
			wg.Go(func() { get(t, tr, request(t, doc)) })
			time.Sleep(second / 2)
			wg.Go(func() { get(t, tr, request(t, doc, "Cache-Control", test.control)) })
			wg.Wait()
			if n := o.count(); n != test.requests {
				t.Errorf("%q, and an answer of age %q: %d requests, want %d", test.control, test.age, n, test.requests)
			}
		})
	}
}

// TestStuckNeighbour: a caller that never reads its answer holds up others for a while
// only, and no other document at all.
func TestStuckNeighbour(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := &origin{answer: func(n int, _ *http.Request) (*http.Response, error) {
			return reply(http.StatusOK, headers("Cache-Control", "max-age=60"), fmt.Sprintf(`{"n":%d}`, n)), nil
		}}
		tr := &doccache.Transport{Base: o, Dir: dir}
		resp, err := tr.RoundTrip(request(t, doc))
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		want(t, tr, doc+"?page=2", `{"n":2}`, 2)
		if d := time.Since(begin); d != 0 {
			t.Errorf("another document took %v", d)
		}
		want(t, tr, doc, `{"n":3}`, 3)
		if d := time.Since(begin); d != 5*second {
			t.Errorf("the same document took %v, want 5s", d)
		}
		resp.Body.Close()
		clean(t, dir)
	})
}
