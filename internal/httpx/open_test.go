package httpx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		data := random(300_000, 1)
		s := serve((&file{data: data, etag: `"v1"`}).handler)
		b := must.Get(client(t, s).Open(t.Context(), get(pkg)))(t)
		got, err := io.ReadAll(b)
		if n, _ := s.Open(); n != 0 {
			t.Error("the body is not closed at the end of the file")
		}
		b.Close()
		if err != nil || b.Size != int64(len(data)) || b.URL.String() != pkg || b.Header.Get("ETag") != `"v1"` || b.Resumes() != 0 {
			t.Errorf("%+v, %v", b, err)
		}
		same(t, got, data)
		if ae := s.Requests()[0].Header.Get("Accept-Encoding"); ae != "identity" {
			t.Errorf("Accept-Encoding %q", ae)
		}
		if n, err := b.Read(nil); n != 0 || err != nil {
			t.Errorf("Read of nothing: %d, %v", n, err)
		}
		if n, err := b.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("Read after the end: %d, %v", n, err)
		}
	})
}

// HTTP.Timeout does not apply to downloads. Timeout limits the headers and Idle each read.
func TestTimeoutsOfDownloads(t *testing.T) {
	t.Parallel()
	slow := func(_ int, r *http.Request) (*http.Response, error) {
		sent := 0
		return reply(200, io.NopCloser(readerFunc(func(p []byte) (int, error) {
			if sent++; sent > 100 {
				return 0, io.EOF
			}
			time.Sleep(29 * time.Second)
			p[0] = 'x'
			return 1, nil
		})), -1), nil
	}
	synctest.Test(t, func(t *testing.T) {
		c := client(t, serve(slow))
		c.HTTP.Timeout = time.Second
		start := time.Now()
		got, _, _, err := download(t, c, get(pkg))
		if err != nil || len(got) != 100 || time.Since(start) < 40*time.Minute {
			t.Errorf("%d bytes after %v, %v", len(got), time.Since(start), err)
		}
	})
	for _, test := range []struct {
		name                string
		step                handler
		timeout, idle, want time.Duration
		text                string
	}{
		{"headers", hangs, 0, 0, 10 * time.Second, "no answer within 10s"},
		{"headers, set", hangs, 3 * time.Second, time.Second, 3 * time.Second, "no answer within 3s"},
		{"idle", (&file{data: random(10, 1), cuts: []int{5, 5, 5}, how: func(w *wire) { w.stalls = true }}).handler, 0, 0, 30 * time.Second, "no data within 30s"},
		{"idle, set", (&file{data: random(10, 1), cuts: []int{5, 5, 5}, how: func(w *wire) { w.stalls = true }}).handler, time.Second, 4 * time.Second, 4 * time.Second, "no data within 4s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := client(t, serve(test.step))
			c.Retries, c.Timeout, c.Idle, c.HTTP.Timeout = -1, test.timeout, test.idle, time.Millisecond
			start := time.Now()
			_, _, _, err := download(t, c, get(pkg))
			if asError(t, err); time.Since(start) != test.want || !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: after %v: %v", test.name, time.Since(start), err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := client(t, serve((&file{data: random(10, 1), cuts: []int{5}, how: func(w *wire) { w.stalls = true }}).handler))
		c.Idle, c.Timeout = -1, -1
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		b := must.Get(c.Open(ctx, get(pkg)))(t)
		defer b.Close()
		_, err := io.Copy(io.Discard, b)
		if asError(t, err); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without timeouts: error %v", err)
		}
	})
	// A slow reader is not an idle server.
	synctest.Test(t, func(t *testing.T) {
		data := random(100_000, 12)
		b := must.Get(client(t, serve((&file{data: data}).handler)).Open(t.Context(), get(pkg)))(t)
		defer b.Close()
		var got []byte
		var err error
		for p := make([]byte, 30_000); err == nil; time.Sleep(time.Hour) {
			var n int
			n, err = b.Read(p)
			got = append(got, p[:n]...)
		}
		if err != io.EOF || b.Resumes() != 0 {
			t.Errorf("%v after %d resumes", err, b.Resumes())
		}
		same(t, got, data)
	})
}

// A timeout at the same time as the headers is either a success or a timeout.
func TestTimeoutWithTheHeaders(t *testing.T) {
	t.Parallel()
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			c := client(t, serve(func(n int, r *http.Request) (*http.Response, error) {
				time.Sleep(10 * time.Second)
				return status(200, "package")(n, r)
			}))
			c.Retries = -1
			if _, _, _, err := download(t, c, get(pkg)); err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.Canceled)) {
				t.Errorf("Open returned %v, want a timeout", err)
			}
		})
	}
}

func TestDownloadLimit(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	for _, chunks := range []bool{false, true} {
		for extra, ok := range map[int]bool{0: true, 1: false, 100_000: false} {
			synctest.Test(t, func(t *testing.T) {
				data := random(limit+extra, 13)
				s := serve((&file{data: data, chunks: chunks}).handler)
				r := get(pkg)
				r.Limit = limit
				b, err := client(t, s).Open(t.Context(), r)
				if err == nil {
					var got []byte
					got, err = io.ReadAll(b)
					if len(got) > limit {
						t.Errorf("Read returned %d bytes", len(got))
					}
					b.Close()
				} else if chunks {
					t.Fatal(err)
				}
				if ok && err != nil || !ok && !errors.Is(err, failure.ErrTooLarge) {
					t.Errorf("chunks %v, %d over: %v", chunks, extra, err)
				}
				if !ok {
					asError(t, err)
				}
				if len(s.Requests()) != 1 {
					t.Errorf("%d requests", len(s.Requests()))
				}
			})
		}
	}
	// The size may become known when the download resumes.
	synctest.Test(t, func(t *testing.T) {
		f := &file{data: random(limit+1, 14), chunks: true, cuts: []int{50_000}}
		s := serve(f.handler, func(n int, r *http.Request) (*http.Response, error) {
			f.chunks = false
			return f.handler(n, r)
		})
		r := get(pkg)
		r.Limit = limit
		b := must.Get(client(t, s).Open(t.Context(), r))(t)
		defer b.Close()
		if got, err := io.ReadAll(b); !errors.Is(err, failure.ErrTooLarge) || len(got) != 50_000 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

// A transport may return more bytes than it declares.
func TestMoreThanDeclared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if got, _, _, err := download(t, client(t, serve(sends(200, "abcdef", wire{}, 3))), get(pkg)); err != nil || string(got) != "abc" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestCancelAndClose(t *testing.T) {
	t.Parallel()
	stall := func(w *wire) { w.stalls = true }
	because := errors.New("the user pressed a key")
	for _, test := range []struct {
		name string
		file *file
		step handler // if not nil, answers the next requests
	}{
		{"while reading", &file{data: random(200_000, 15), cuts: []int{100_000}, how: stall}, nil},
		{"while waiting", &file{data: random(200_000, 15), cuts: []int{10, 10, 10}}, nil},
		{"while asking again", &file{data: random(200_000, 15), cuts: []int{100_000}}, hangs},
		{"while skipping", &file{data: random(200_000, 15), cuts: []int{100_000}}, sends(200, "x", wire{stalls: true}, 200_000)},
	} {
		for _, closes := range []bool{false, true} {
			bubble(t, fmt.Sprint(test.name, closes), func(t *testing.T) {
				f := *test.file // each keeps what it was asked
				s := serve(func(n int, r *http.Request) (*http.Response, error) {
					if n > 0 && test.step != nil {
						return test.step(n, r)
					}
					return f.handler(n, r)
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				b := must.Get(client(t, s).Open(ctx, get(pkg)))(t)
				const soon = 200 * time.Millisecond
				time.AfterFunc(soon, func() {
					if closes {
						b.Close()
					} else {
						cancel(because)
					}
				})
				start := time.Now()
				_, err := io.Copy(io.Discard, b)
				asError(t, err)
				if time.Since(start) != soon {
					t.Errorf("took %v", time.Since(start))
				}
				if closes && !errors.Is(err, os.ErrClosed) {
					t.Errorf("after Close: %v", err)
				}
				if !closes && (!errors.Is(err, context.Canceled) || !errors.Is(err, because)) {
					t.Errorf("after cancel: %v", err)
				}
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := must.Get(client(t, serve((&file{data: random(10, 1)}).handler)).Open(t.Context(), get(pkg)))(t)
		b.Close()
		_, err := b.Read(make([]byte, 1))
		if asError(t, err); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Read after Close: %v", err)
		}
	})
}

// All streams are closed. Otherwise goroutines of the transport would prevent the end of the bubble.
func TestStreamsAreClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		data := random(500_000, 16)
		n := 0
		tr := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch n++; {
			case r.URL.Path == "/stall":
				w.Write(data[:1000])
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			case n%2 == 1:
				w = &cutWriter{w, 100_000}
				fallthrough
			default:
				http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
			}
		}))
		c := client(t, tr)
		for range 5 {
			got, _, _, err := download(t, c, get(pkg))
			must.Do(t, err)
			same(t, got, data)
		}
		for range 5 { // given up in the middle
			b := must.Get(c.Open(t.Context(), get(pkg)))(t)
			io.CopyN(io.Discard, b, 150_000)
			b.Close()
		}
		c.Idle = time.Second
		_, _, _, err := download(t, c, get("https://releases.example.com/stall"))
		asError(t, err)
	})
}

func TestResumeIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := client(t, serve((&file{data: random(200_000, 17), cuts: []int{100_000}}).handler))
		c.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		_, _, _, err := download(t, c, get(pkg+"?sig=sig-value"))
		must.Do(t, err)
		for _, want := range []string{
			`msg="http retry" wait=0s url=https://releases.example.com/pkg.zip?... attempt=1 status=200 error="connection reset by peer"`,
			`msg="http resume" offset=100000 skipped=0 url=https://releases.example.com/pkg.zip?...`,
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, &out)
			}
		}
	})
}

// TestResumeLogsEachRetry: each wait before an attempt to resume is logged with its cause, without secrets,
// and no wait that would outlast the deadline.
func TestResumeLogsEachRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		f := &file{data: random(2_000, 18), cuts: []int{1_000, 0, 0}, how: func(w *wire) { w.end = errors.New("reset by " + secret) }}
		c := client(t, serve(f.handler))
		c.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		ctx, cancel := context.WithTimeout(t.Context(), 1400*time.Millisecond) // the first wait is 0.5 to 1 s, the second 1 to 2 s
		defer cancel()
		body := must.Get(c.Open(ctx, withToken(pkg)))(t)
		if _, err := io.ReadAll(body); err == nil {
			t.Error("a download that always breaks off has no error")
		}
		var waits []string
		for line := range strings.Lines(out.String()) {
			leaks(t, strings.TrimSuffix(line, "\n"))
			if strings.Contains(line, `msg="http retry"`) {
				waits = append(waits, line)
			}
		}
		if len(waits) != 1 || !strings.Contains(waits[0], " attempt=1 ") || !strings.Contains(waits[0], `error="reset by ..."`) {
			t.Errorf("logged %q; want the wait after the first attempt, with its cause", waits)
		}
	})
}
