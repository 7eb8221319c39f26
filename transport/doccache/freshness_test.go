package doccache_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/transport/doccache"
)

const second = time.Second

// date returns a date relative to the start of a bubble.
func date(d time.Duration) string {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d).Format(http.TimeFormat)
}

// TestFreshness makes a request, and two more at two times: at the first the answer is fresh, at the
// second it is not.
func TestFreshness(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	tests := []struct {
		name    string
		header  http.Header
		fresh   time.Duration // longest time, in seconds, after which it is; negative: never
		set     settings
		latency time.Duration
	}{
		{name: "nothing is stated", header: headers(), fresh: -1},
		{name: "max-age", header: headers("Cache-Control", "max-age=60"), fresh: 59 * second},
		{name: "quoted", header: headers("Cache-Control", `private, Max-Age="60"`), fresh: 59 * second},
		{name: "contradiction", header: headers("Cache-Control", "max-age=60, max-age=10"), fresh: 9 * second},
		{name: "for shared caches", header: headers("Cache-Control", "s-maxage=60"), fresh: -1},
		{name: "not a number", header: headers("Cache-Control", "max-age=-60"), fresh: -1},
		{name: "for ever", header: headers("Cache-Control", "max-age=99999999999999999999"), fresh: day - second},
		{name: "immutable", header: headers("Cache-Control", "max-age=60, immutable"), fresh: 59 * second},
		{name: "Expires", header: headers("Expires", date(60*second)), fresh: 59 * second},
		{name: "Expires counts from Date", header: headers("Date", date(-10*second), "Expires", date(60*second)), fresh: 59 * second},
		{name: "Expires is less than max-age", header: headers("Cache-Control", "max-age=60", "Expires", date(10*second)), fresh: 59 * second},
		{name: "Expires makes no sense", header: headers("Expires", "0"), fresh: -1},
		{name: "Age", header: headers("Cache-Control", "max-age=60", "Age", "50"), fresh: 9 * second},
		{name: "an old Date", header: headers("Cache-Control", "max-age=60", "Date", date(-50*second)), fresh: 9 * second},
		{name: "a Date to come", header: headers("Cache-Control", "max-age=60", "Date", date(50*second)), fresh: 59 * second},
		{name: "the way counts", header: headers("Cache-Control", "max-age=60"), fresh: 54 * second, latency: 5 * second},
		{name: "no-cache", header: headers("Cache-Control", "max-age=60, no-cache"), fresh: -1},
		{name: "no-cache of a field", header: headers("Cache-Control", `max-age=60, no-cache="Set-Cookie, X"`), fresh: -1},
		{name: "must-revalidate", header: headers("Cache-Control", "max-age=60, must-revalidate"), fresh: 59 * second},
		{name: "FreshFor", header: headers(), set: settings{FreshFor: 60 * second}, fresh: 59 * second},
		{name: "FreshFor is longer", header: headers("Cache-Control", "max-age=0, private, must-revalidate"), set: settings{FreshFor: 60 * second}, fresh: 59 * second},
		{name: "FreshFor is shorter", header: headers("Cache-Control", "max-age=60"), set: settings{FreshFor: 6 * second}, fresh: 59 * second},
		{name: "FreshFor and no-cache", header: headers("Cache-Control", "no-cache"), set: settings{FreshFor: 60 * second}, fresh: -1},
		{name: "Refresh", header: headers("Cache-Control", "max-age=60"), set: settings{Refresh: true}, fresh: -1},
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T, dir string) {
			o := always(test.header, `{}`)
			plain := o.answer
			o.answer = func(n int, req *http.Request) (*http.Response, error) {
				time.Sleep(test.latency)
				return plain(n, req)
			}
			tr := test.set.transport(o, dir)
			want(t, tr, doc, `{}`, 1)
			start := time.Now()
			if test.fresh >= 0 {
				time.Sleep(test.fresh)
				resp := want(t, tr, doc, `{}`, 1)
				if got := resp.Header.Get("Cache-Status"); got != "tofureg; hit" {
					t.Errorf("Cache-Status %q", got)
				}
			}
			time.Sleep(time.Until(start.Add(test.fresh + second)))
			want(t, tr, doc, `{}`, 2)
		})
	}
}

// TestClockPutBack: an answer with a date in the future is revalidated.
func TestClockPutBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := headers("Cache-Control", "max-age=600", "Etag", `"a"`)
	later := &doccache.Transport{Base: always(h, `{}`), Dir: dir, FreshFor: time.Hour, StaleIfError: time.Hour}
	want(t, later, doc, `{}`, 1)
	synctest.Test(t, func(t *testing.T) { // whose clock starts with the year 2000
		tr := &doccache.Transport{Base: always(h, `{}`), Dir: dir, FreshFor: time.Hour, StaleIfError: time.Hour}
		want(t, tr, doc, `{}`, 1)
		if s := tr.Stats(); s.Revalidated != 1 || s.Hits != 0 {
			t.Errorf("%+v", s)
		}
	})
}
