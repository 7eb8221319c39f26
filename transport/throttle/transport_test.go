package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/throttle"
)

// At most Parallel requests run at the same time.
func TestParallel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ parallel, want int }{{1, 1}, {3, 3}, {0, 16}, {-1, 48}} {
		webtest.Bubble(t, fmt.Sprint(test.parallel), func(t *testing.T) {
			b := webtest.Serve(webtest.After(time.Second, ok))
			start := time.Now()
			all(t, &throttle.Transport{Base: b, Parallel: test.parallel}, 48, example)
			_, most := b.Open()
			if want := time.Duration(48/test.want) * time.Second; most != test.want || time.Since(start) != want {
				t.Errorf("%d requests at the same time, all done after %v; want %d, after %v", most, time.Since(start), test.want, want)
			}
		})
	}
}

// All spellings of a host and port share their limits.
func TestHosts(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct {
		A, B string
		Same bool
	}](t, "hosts.txt") {
		synctest.Test(t, func(t *testing.T) {
			tr := &throttle.Transport{Base: webtest.Serve(webtest.After(time.Second, ok)), Parallel: 1}
			start := time.Now()
			go ask(t.Context(), t, tr, test.A)
			synctest.Wait()
			if err := ask(t.Context(), t, tr, test.B); err != nil {
				t.Error(err)
			}
			if waited := time.Since(start) == 2*time.Second; waited != test.Same {
				t.Errorf("the second of %s and %s waited for the first: %v", test.A, test.B, waited)
			}
		})
	}
}

// A slot is free again after every way in which a request can end.
func TestEnds(t *testing.T) {
	t.Parallel()
	answers := func(status int, body io.ReadCloser) webtest.Handler {
		return func(int, *http.Request) (*http.Response, error) { return webtest.Reply(status, body, -1), nil }
	}
	body := func(r io.Reader) webtest.Handler { return answers(200, io.NopCloser(r)) }
	for name, test := range map[string]struct {
		answer webtest.Handler
		then   func(resp *http.Response, cancel func())
	}{
		"read to the end": {body(strings.NewReader("ok")), func(resp *http.Response, _ func()) { _, _ = io.ReadAll(resp.Body) }},
		"read to an error": {body(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ok")))), func(resp *http.Response, _ func()) {
			_, _ = io.ReadAll(resp.Body)
		}},
		"closed unread":  {body(strings.NewReader("ok")), func(resp *http.Response, _ func()) { _ = resp.Body.Close() }},
		"closed twice":   {body(strings.NewReader("ok")), func(resp *http.Response, _ func()) { _ = resp.Body.Close(); _ = resp.Body.Close() }},
		"context":        {body(strings.NewReader("ok")), func(_ *http.Response, cancel func()) { cancel() }},
		"all of these":   {body(strings.NewReader("ok")), func(r *http.Response, cancel func()) { _, _ = io.ReadAll(r.Body); cancel(); _ = r.Body.Close() }},
		"transport":      {webtest.Fails(io.ErrUnexpectedEOF), nil},
		"no body":        {answers(204, http.NoBody), nil},
		"other protocol": {answers(101, io.NopCloser(nil)), nil},
	} {
		webtest.Bubble(t, name, func(t *testing.T) {
			tr := &throttle.Transport{Base: webtest.Serve(test.answer), Parallel: 1}
			start := time.Now()
			for range 3 {
				// If a slot were lost, this would wait until the deadline.
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				resp, _ := tr.RoundTrip(request(ctx, t, example))
				if test.then != nil {
					test.then(resp, cancel)
					synctest.Wait()
				}
				defer cancel()
			}
			if time.Since(start) != 0 {
				t.Errorf("the next request waited for %v", time.Since(start))
			}
		})
	}
	webtest.Bubble(t, "not before", func(t *testing.T) {
		tr := &throttle.Transport{Base: webtest.Serve(ok), Parallel: 1}
		resp := must.Get(tr.RoundTrip(request(t.Context(), t, example)))(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := ask(ctx, t, tr, example); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second request while the body of the first is open: error %v, want DeadlineExceeded", err)
		}
		_ = resp.Body.Close()
	})
}

func TestRate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		perSecond float64
		burst     int
		want      []int64 // milliseconds
	}{
		{10, 1, []int64{0, 100, 200, 300, 400, 500}},
		{10, 3, []int64{0, 0, 0, 100, 200, 300}},
		{2, 0, []int64{0, 0, 500, 1000, 1500, 2000}},
		{0.5, 0, []int64{0, 2000, 4000, 6000, 8000, 10000}},
		{0, 1, []int64{0, 0, 0, 0, 0, 0}},
		{-1, 1, []int64{0, 0, 0, 0, 0, 0}},
		{math.Inf(1), 1, []int64{0, 0, 0, 0, 0, 0}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := webtest.Serve(ok)
			start := time.Now()
			all(t, &throttle.Transport{Base: b, PerSecond: test.perSecond, Burst: test.burst}, 6, example)
			if got := since(b, start); !slices.Equal(got, test.want) {
				t.Errorf("%v a second, burst %d: at %v, want %v", test.perSecond, test.burst, got, test.want)
			}
		})
	}
}

// After an answer of a busy server, no request starts for the time that the answer states.
func TestPause(t *testing.T) {
	t.Parallel()
	const start = 946684800 // when the clock of a bubble starts
	for name, test := range map[string]struct {
		status   int
		header   []string
		maxPause time.Duration
		want     time.Duration
	}{
		"seconds":               {503, []string{"Retry-After: 7"}, 0, 7 * time.Second},
		"too many":              {429, []string{"Retry-After: 7"}, 0, 7 * time.Second},
		"date":                  {429, []string{"Retry-After: Sat, 01 Jan 2000 00:00:09 GMT"}, 0, 9 * time.Second},
		"past date":             {429, []string{"Retry-After: Fri, 31 Dec 1999 00:00:09 GMT"}, 0, 0},
		"reset":                 {429, []string{"X-Ratelimit-Reset: 5"}, 0, 5 * time.Second},
		"reset as a date":       {429, []string{fmt.Sprint("X-Ratelimit-Reset: ", start+6)}, 0, 6 * time.Second},
		"more than the default": {503, []string{"Retry-After: 31"}, 0, 30 * time.Second},
		"absurd":                {503, []string{"Retry-After: 99999999999999999999"}, 0, 30 * time.Second},
		"just what is allowed":  {503, []string{"Retry-After: 60"}, time.Minute, time.Minute},
		"more than is allowed":  {503, []string{"Retry-After: 61"}, time.Minute, time.Minute},
		"never":                 {503, []string{"Retry-After: 7"}, -1, 0},
		"nothing said":          {503, nil, 0, 0},
		"nonsense":              {503, []string{"Retry-After: soon"}, 0, 0},
		"another status":        {500, []string{"Retry-After: 7"}, 0, 0},
		"success":               {200, []string{"Retry-After: 7", "X-Ratelimit-Reset: 7"}, 0, 0},
	} {
		webtest.Bubble(t, name, func(t *testing.T) {
			b := webtest.Serve(webtest.Status(test.status, "busy", test.header...), ok)
			tr := &throttle.Transport{Base: b, MaxPause: test.maxPause}
			start := time.Now()
			all(t, tr, 1, example)
			all(t, tr, 1, "https://other.example.com") // does not wait
			all(t, tr, 10, example)
			if got := since(b, start); got[1] != 0 || got[2] != test.want.Milliseconds() || got[11] != got[2] {
				t.Errorf("requests at %v ms, want them at %v", got, test.want)
			}
		})
	}
}

// A pause also delays requests that already wait for the rate. A later, shorter pause does not
// shorten it.
func TestPauseWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slow = 100 * time.Millisecond
		b := webtest.Serve(webtest.After(slow, busy("10")), webtest.After(slow, busy("3")), webtest.After(slow, ok))
		start := time.Now()
		all(t, &throttle.Transport{Base: b, PerSecond: 2, Burst: 2}, 6, example)
		got := since(b, start)
		if got[0] != 0 || got[1] != 0 || slices.Min(got[2:]) != 10_100 {
			t.Errorf("requests at %v ms, want the third at 10100", got)
		}
	})
}

// After a pause the rate still applies: the delayed requests do not start all at once, and the
// burst has grown during the pause.
func TestRateAfterPause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		burst, parallel int
		after           string
		want            []int64 // milliseconds
	}{
		{1, 0, "20", []int64{0, 20_100, 21_100, 22_100, 23_100, 24_100, 25_100, 26_100}},
		{1, -1, "20", []int64{0, 20_100, 21_100, 22_100, 23_100, 24_100, 25_100, 26_100}},
		{5, 0, "20", []int64{0, 0, 0, 0, 0, 20_100, 20_100, 20_100}},
		{3, 0, "20", []int64{0, 0, 0, 20_100, 20_100, 20_100, 21_100, 22_100}},
		{3, 0, "2", []int64{0, 0, 0, 2_100, 2_100, 3_000, 4_000, 5_000}}, // two seconds permit two requests
		{1, 0, "3", []int64{0, 3_100, 4_100, 5_100, 6_100, 7_100, 8_100, 9_100}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := webtest.Serve(webtest.After(100*time.Millisecond, busy(test.after)), webtest.After(100*time.Millisecond, ok))
			start := time.Now()
			all(t, &throttle.Transport{Base: b, PerSecond: 1, Burst: test.burst, Parallel: test.parallel}, len(test.want), example)
			if got := since(b, start); !slices.Equal(got, test.want) {
				t.Errorf("burst %d, Retry-After %s: at %v, want %v", test.burst, test.after, got, test.want)
			}
		})
	}
}

// A waiting request fails when its context ends, and nothing is sent.
func TestContext(t *testing.T) {
	t.Parallel()
	cause := errors.New("the user has left")
	for name, tr := range map[string]*throttle.Transport{
		"for a slot":       {Parallel: 1},
		"for the rate":     {PerSecond: 0.001},
		"for a busy one":   {MaxPause: time.Hour},
		"for all together": {Parallel: 1, PerSecond: 0.001, MaxPause: time.Hour},
	} {
		webtest.Bubble(t, name, func(t *testing.T) {
			b := webtest.Serve(busy("3600"))
			tr.Base = b
			first := must.Get(tr.RoundTrip(request(t.Context(), t, example)))(t)
			defer first.Body.Close()
			start := time.Now()
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(cause) })
			req := request(ctx, t, "https://registry.example.com/?token=secret")
			sent, _ := io.Pipe()
			req.Body = sent
			_, err := tr.RoundTrip(req)
			if !errors.Is(err, cause) || time.Since(start) != time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
			if strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "registry.example.com") {
				t.Error(err)
			}
			if n := len(b.Requests()); n != 1 {
				t.Errorf("%d requests were made, want 1", n)
			}
			if _, err := sent.Read(nil); err != io.ErrClosedPipe {
				t.Errorf("the body of the second request is not closed: Read returned %v", err)
			}
		})
	}
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		b := webtest.Serve(ok)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := ask(ctx, t, &throttle.Transport{Base: b}, example); !errors.Is(err, context.Canceled) || len(b.Requests()) != 0 {
			t.Errorf("%d requests, %v", len(b.Requests()), err)
		}
	})
	webtest.Bubble(t, "uses up no rate and lets the next requests start", func(t *testing.T) {
		b := webtest.Serve(ok)
		tr := &throttle.Transport{Base: b, PerSecond: 1, Burst: 1}
		start := time.Now()
		all(t, tr, 1, example)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		for range 3 {
			go ask(ctx, t, tr, example)
		}
		synctest.Wait()
		all(t, tr, 2, example)
		if got := since(b, start); !slices.Equal(got, []int64{0, 1000, 2000}) {
			t.Errorf("requests at %v ms", got)
		}
	})
}

// The number of hosts in memory is limited, and a paused host is evicted last.
func TestManyHosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := &throttle.Transport{Base: webtest.Serve(busy("20"), ok)}
		start := time.Now()
		all(t, tr, 1, example)
		for i := range 3 * throttle.MaxHosts {
			all(t, tr, 1, fmt.Sprintf("https://host-%d.example.com/", i))
		}
		all(t, tr, 1, example)
		if waited := time.Since(start); waited != 20*time.Second || tr.Hosts() > throttle.MaxHosts {
			t.Errorf("waited for %v, want 20s; %d hosts are in memory", waited, tr.Hosts())
		}
	})
	synctest.Test(t, func(t *testing.T) { // no host has its full burst
		tr := &throttle.Transport{Base: webtest.Serve(ok), PerSecond: 0.001, Burst: 1}
		for i := range throttle.MaxHosts + 100 {
			all(t, tr, 1, fmt.Sprintf("https://host-%d.example.com/", i))
		}
		if tr.Hosts() > throttle.MaxHosts {
			t.Errorf("%d hosts are in memory", tr.Hosts())
		}
	})
}

// idle is a transport that counts calls of CloseIdleConnections.
type idle int

func (*idle) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.ErrUnsupported }
func (i *idle) CloseIdleConnections()                         { *i++ }

func TestCloseIdleConnections(t *testing.T) {
	t.Parallel()
	var calls idle
	client := &http.Client{Transport: &throttle.Transport{Base: &calls}}
	client.CloseIdleConnections()
	if calls != 1 {
		t.Errorf("Base got %d calls, want 1", calls)
	}
	(&throttle.Transport{Base: http.NewFileTransport(http.Dir("."))}).CloseIdleConnections()
	(&throttle.Transport{}).CloseIdleConnections()
}

var alpha = addrs.MustParseProvider("registry.example.com/acme/alpha")

// start returns a registry with one provider, whose package has a megabyte.
func start() *regtest.Registry {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux_amd64"}, Size: 1 << 20})
	return reg
}

// Of ten clients that share a transport, only the running requests see that a server is busy.
func TestClientsShareAPause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		shared bool
		want   int // requests for the list of versions while the server is busy
	}{{true, 2}, {false, 10}} {
		synctest.Test(t, func(t *testing.T) {
			reg := start()
			reg.Latency = 100 * time.Millisecond
			reg.AddFault(regtest.Fault{Kind: regtest.Versions, First: test.want, Status: 429, RetryAfter: "20"})
			hc := reg.Client()
			if test.shared {
				hc.Transport = &throttle.Transport{Base: reg, Parallel: 2}
			}
			begin := time.Now()
			webtest.Together(10, func(int) {
				client := &regclient.Client{Transport: &transport.Settings{HTTP: hc}}
				if _, err := client.ProviderVersions(t.Context(), alpha); err != nil {
					t.Error(err)
				}
			})
			busy := 0
			for _, q := range reg.Requests() {
				if q.Kind == regtest.Versions && q.Time.Sub(begin) < 20*time.Second {
					busy++
				}
			}
			if total := reg.Count(regtest.Versions); busy != test.want || total != 10+test.want {
				t.Errorf("shared %v: %d of %d requests while the server was busy, want %d", test.shared, busy, total, test.want)
			}
		})
	}
}

// A wait for the limits does not count towards the timeout of the request.
func TestWaitIsNotTimeout(t *testing.T) {
	t.Parallel()
	for name, tr := range map[string]*throttle.Transport{
		"for a slot":   {Parallel: 1},
		"for the rate": {PerSecond: 0.02, Burst: 2},
	} {
		webtest.Bubble(t, name, func(t *testing.T) {
			reg := start()
			reg.AddFault(regtest.Fault{Kind: regtest.Archive, Rate: 20_000}) // which takes about 50 seconds
			tr.Base = reg
			client := &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: tr}, Timeout: 5 * time.Second, Retries: -1}}
			pkg := must.Get(client.ProviderPackage(t.Context(), alpha, addrs.MustParseVersion("1.0.0"), addrs.MustParsePlatform("linux_amd64")))(t)
			webtest.Together(3, func(i int) {
				path := filepath.Join(t.TempDir(), fmt.Sprint(i))
				if _, err := provider.Download(t.Context(), client, pkg, path, provider.DownloadOptions{}); err != nil {
					t.Error(err)
				}
			})
		})
	}
	webtest.Bubble(t, "the server has its own time", func(t *testing.T) {
		reg := start()
		reg.AddFault(regtest.Fault{Kind: regtest.Versions, Delay: time.Hour})
		client := &regclient.Client{
			Transport: &transport.Settings{
				HTTP:    &http.Client{Transport: &throttle.Transport{Base: reg, PerSecond: 0.1, Burst: 1}},
				Timeout: 5 * time.Second,
				Retries: -1,
			},
		}
		begin := time.Now()
		_, err := client.ProviderVersions(t.Context(), alpha)
		if took := time.Since(begin); err == nil || took != 15*time.Second {
			t.Errorf("error after %v: %v; want ten seconds of waiting and five for the server", took, err)
		}
	})
}
