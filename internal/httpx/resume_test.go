package httpx_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// All kinds of interruption, with all kinds of answers that continue the file.
func TestResume(t *testing.T) {
	t.Parallel()
	data := random(500_000, 2)
	breaks := map[string]func(w *wire){
		"reset":      nil,
		"stall":      func(w *wire) { w.stalls = true },
		"truncation": func(w *wire) {},
		"early end":  func(w *wire) { w.end = io.ErrUnexpectedEOF },
	}
	validators := casetest.Read[struct {
		Name, Etag, Date, Now, IfRange string
		Chunks                         bool
	}](t, "validators.txt")
	for how, breaking := range breaks {
		for _, v := range validators {
			for _, ignoresRange := range []bool{false, true} {
				if v.Chunks && how == "truncation" {
					continue // cannot be told from the end
				}
				bubble(t, fmt.Sprint(how, "/", v.Name, "/ignores ", ignoresRange), func(t *testing.T) {
					f := &file{data: data, etag: v.Etag, date: v.Date, now: v.Now, chunks: v.Chunks, cuts: []int{123_456}, how: breaking}
					if ignoresRange {
						f.rest = func(r *http.Request) *http.Response {
							r = r.Clone(r.Context())
							r.Header.Del("Range")
							return f.part(1, r)
						}
					}
					start := time.Now()
					got, sum, b, err := download(t, client(t, serve(f.handler)), get(pkg))
					must.Do(t, err)
					same(t, got, data)
					if want := sha256.Sum256(data); !bytes.Equal(sum.Sum(nil), want[:]) {
						t.Error("the running hash differs")
					}
					if b.Resumes() != 1 {
						t.Errorf("%d resumes", b.Resumes())
					}
					want := []string{"|", "bytes=123456-|" + v.IfRange}
					if fmt.Sprint(f.steps) != fmt.Sprint(want) {
						t.Errorf("requests %q, want %q", f.steps, want)
					}
					if took, most := time.Since(start), map[bool]time.Duration{true: 30 * time.Second}[how == "stall"]; took != most {
						t.Errorf("took %v, want %v without a wait", took, most)
					}
				})
			}
		}
	}
}

// Answers for a changed file.
func TestResumeOfAnotherFile(t *testing.T) {
	t.Parallel()
	data, other := random(200_000, 3), random(200_000, 4)
	longer := append(bytes.Clone(data), 'x')
	type answer = func(*http.Request) *http.Response
	answerWith := func(code int, body []byte, length int, headers ...string) answer {
		return func(r *http.Request) *http.Response {
			return reply(code, &wire{ctx: r.Context(), data: bytes.NewReader(body)}, int64(length), headers...)
		}
	}
	partial := func(body []byte, headers ...string) answer { return answerWith(206, body, len(body), headers...) }
	endless := func(body []byte, headers ...string) answer { return answerWith(206, body, -1, headers...) }
	answers := func(code int, headers ...string) answer { return answerWith(code, nil, 0, headers...) }
	whole := func(data []byte, headers ...string) answer { return answerWith(200, data, len(data), headers...) }
	unmeasured := func(data []byte) answer { return answerWith(200, data, -1) }
	rest := data[100_000:]
	for name, test := range map[string]struct {
		file   file // besides its data
		answer answer
	}{
		"another etag with 200":            {file{etag: `"v1"`}, whole(other, `ETag: "v2"`)},
		"another etag, same bytes":         {file{etag: `"v1"`}, whole(data, `ETag: "v2"`)},
		"another etag with 206":            {file{etag: `"v1"`}, partial(rest, `ETag: "v2"`, "Content-Range: bytes 100000-199999/200000")},
		"another weak etag with 206":       {file{etag: `W/"v1"`}, partial(rest, `ETag: W/"v2"`, "Content-Range: bytes 100000-199999/200000")},
		"another date with 206":            {file{date: "Fri, 31 Dec 1999 00:00:00 GMT"}, partial(rest, "Last-Modified: Fri, 31 Dec 1999 00:00:01 GMT", "Content-Range: bytes 100000-199999/200000")},
		"another length with 200":          {file{}, whole(longer)},
		"another length, same etag":        {file{etag: `"v1"`}, whole(longer, `ETag: "v1"`)},
		"another total with 206":           {file{}, partial(append(bytes.Clone(rest), 'x'), "Content-Range: bytes 100000-200000/200001")},
		"shorter than what was read":       {file{chunks: true}, whole(data[:50_000])},
		"shorter, of unknown length":       {file{chunks: true}, unmeasured(data[:50_000])},
		"shorter, of a length once known":  {file{}, unmeasured(data[:50_000])},
		"other bytes, no validator":        {file{}, whole(other)},
		"other bytes, weak etag":           {file{etag: `W/"v1"`}, whole(other, `ETag: W/"v1"`)},
		"other bytes, etag gone":           {file{etag: `"v1"`}, whole(other)},
		"other bytes, etag weak by now":    {file{etag: `"v1"`}, whole(other, `ETag: W/"v1"`)},
		"other bytes, same etag":           {file{etag: `"v1"`}, whole(other, `ETag: "v1"`)},
		"other bytes, nothing else left":   {file{etag: `"v1"`}, unmeasured(other)},
		"206 from the start":               {file{etag: `"v1"`}, partial(data, `ETag: "v1"`, "Content-Range: bytes 0-199999/200000")},
		"206 from elsewhere":               {file{etag: `"v1"`}, partial(rest[1:], `ETag: "v1"`, "Content-Range: bytes 100001-199999/200000")},
		"206 without the etag":             {file{etag: `"v1"`}, partial(rest, "Content-Range: bytes 100000-199999/200000")},
		"206 without Content-Range":        {file{etag: `"v1"`}, partial(rest, `ETag: "v1"`)},
		"206 in parts":                     {file{etag: `"v1"`}, partial(rest, `ETag: "v1"`, "Content-Type: multipart/byteranges; boundary=x")},
		"206 with a range backwards":       {file{etag: `"v1"`}, partial(rest, `ETag: "v1"`, "Content-Range: bytes 100000-99999/200000")},
		"206 beyond its own total":         {file{etag: `"v1"`}, partial(rest, `ETag: "v1"`, "Content-Range: bytes 100000-200000/200000")},
		"206 with signs":                   {file{etag: `"v1"`}, partial(rest, `ETag: "v1"`, "Content-Range: bytes +100000-199999/200000")},
		"206 of a total in words":          {file{etag: `"v1"`}, partial(rest, `ETag: "v1"`, "Content-Range: bytes 100000-199999/all")},
		"206 backwards, no length":         {file{chunks: true}, endless(rest, "Content-Range: bytes 100000-99999/200000")},
		"206 beyond its total, no length":  {file{chunks: true}, endless(rest, "Content-Range: bytes 100000-200000/200000")},
		"206 in another unit":              {file{etag: `"v1"`}, partial(rest, `ETag: "v1"`, "Content-Range: lines 100000-199999/200000")},
		"206 of another length than named": {file{etag: `"v1"`}, partial(rest[:5], `ETag: "v1"`, "Content-Range: bytes 100000-199999/200000")},
		"416":                              {file{etag: `"v1"`}, answers(416, "Content-Range: bytes */50000")},
		"416 with the old total":           {file{etag: `"v1"`}, answers(416, "Content-Range: bytes */200000")},
		"416 behind a shorter file":        {file{etag: `"v1"`}, answers(416, "Content-Range: bytes */100000")},
		"416 of unknown length":            {file{chunks: true}, answers(416, "Content-Range: bytes */50000")},
		"412":                              {file{etag: `"v1"`}, answers(412)},
		"204":                              {file{etag: `"v1"`}, answers(204)},
	} {
		bubble(t, name, func(t *testing.T) {
			f := test.file
			f.data, f.cuts = data, []int{100_000}
			f.rest = test.answer
			s := serve(f.handler)
			got, _, b, err := download(t, client(t, s), get(pkg))
			e := asError(t, err)
			if !errors.Is(err, failure.ErrChanged) || b.Resumes() != 0 || len(s.Requests()) != 2 {
				t.Errorf("%d requests, %d resumes: %v", len(s.Requests()), b.Resumes(), err)
			}
			same(t, got, data[:100_000])
			if e.URL != pkg {
				t.Errorf("URL %s", e.URL)
			}
			if _, again := b.Read(make([]byte, 1)); again != err {
				t.Errorf("a second Read: %v", again)
			}
		})
	}
}

// A download of unknown length is interrupted after the last byte.
func TestResumeBehindTheLastByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		data := random(100_000, 5)
		f := &file{data: data, chunks: true, cuts: []int{len(data)}}
		f.rest = func(r *http.Request) *http.Response {
			return reply(416, http.NoBody, 0, fmt.Sprintf("Content-Range: bytes */%d", len(data)))
		}
		got, _, _, err := download(t, client(t, serve(f.handler)), get(pkg))
		must.Do(t, err)
		same(t, got, data)
	})
	// With a known length, no request follows.
	synctest.Test(t, func(t *testing.T) {
		data := random(100_000, 5)
		s := serve((&file{data: data, cuts: []int{len(data)}}).handler)
		got, _, _, err := download(t, client(t, s), get(pkg))
		if err != nil || len(s.Requests()) != 1 {
			t.Fatalf("%d requests, %v", len(s.Requests()), err)
		}
		same(t, got, data)
	})
}

// The length may become known when the download resumes, and a range has an end also if it does not.
func TestResumeOfUnknownLength(t *testing.T) {
	t.Parallel()
	for _, learns := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			data := random(300_000, 6)
			f := &file{data: data, chunks: true, cuts: []int{100_000, 200_000}}
			s := serve(f.handler, func(n int, r *http.Request) (*http.Response, error) {
				f.chunks = !learns
				f.how = func(w *wire) {} // ends early: seen by the total or the range alone
				return f.handler(n, r)
			})
			got, _, b, err := download(t, client(t, s), get(pkg))
			if err != nil || b.Resumes() != 2 || b.Size != -1 {
				t.Fatalf("learns %v: %d resumes, Size %d, %v", learns, b.Resumes(), b.Size, err)
			}
			same(t, got, data)
		})
	}
}

// Successive attempts without a new byte are limited. Bytes that Read has returned before do not
// count.
func TestResumeBudget(t *testing.T) {
	t.Parallel()
	data := random(200_000, 8)
	for _, test := range []struct {
		name     string
		retries  int
		cuts     []int
		then     handler // if not nil, answers requests after the cuts
		requests int
		ok       bool
		attempts int // in the error
	}{
		{"no retries", -1, []int{100_000}, nil, 1, false, 1},
		{"no new byte", 0, []int{100_000, 100_000, 100_000}, nil, 3, false, 3},
		{"new byte in time", 0, []int{100_000, 100_000, 100_001, 100_001, 100_001, 100_001}, nil, 5, false, 3},
		{"just enough", 0, []int{100_000, 100_000}, nil, 3, true, 0},
		{"a byte each time", 0, []int{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, nil, 11, true, 0},
		{"no first byte", 0, []int{0, 0, 0}, nil, 3, false, 3},
		{"no first byte at first", 0, []int{0, 0}, nil, 3, true, 0},
		{"refused", 0, []int{100_000}, fails(errReset), 3, false, 3},
		{"busy", 0, []int{100_000}, status(503, ""), 3, false, 3},
		{"gone", 0, []int{100_000}, status(404, ""), 2, false, 2},
		{"forbidden", 0, []int{100_000}, status(403, ""), 2, false, 2},
		{"two more", 4, []int{100_000, 100_000, 100_000, 100_000, 100_000}, nil, 5, false, 5},
	} {
		bubble(t, test.name, func(t *testing.T) {
			f := &file{data: data, etag: `"v1"`, cuts: test.cuts}
			s := serve(func(n int, r *http.Request) (*http.Response, error) {
				if test.then != nil && n >= len(test.cuts) {
					return test.then(n, r)
				}
				return f.handler(n, r)
			})
			c := client(t, s)
			c.Retries = test.retries
			got, _, _, err := download(t, c, get(pkg))
			if len(s.Requests()) != test.requests {
				t.Errorf("%d requests, want %d", len(s.Requests()), test.requests)
			}
			if test.ok {
				must.Do(t, err)
				same(t, got, data)
				return
			}
			if e := asError(t, err); e.Attempts != test.attempts {
				t.Errorf("%d attempts in the error, want %d: %v", e.Attempts, test.attempts, err)
			}
			same(t, got, data[:len(got)])
		})
	}
	t.Run("attempts that opened count too", func(t *testing.T) {
		t.Parallel()
		refuse := fails(errReset)
		for _, test := range []struct {
			refused []bool // whether the nth request gets no answer
			cuts    []int  // of the others, in turn
		}{
			{[]bool{true, false}, []int{0, 0, 0}},
			{[]bool{false, true, false}, []int{100_000, 100_000, 100_000}},
		} {
			synctest.Test(t, func(t *testing.T) {
				f := &file{data: data, etag: `"v1"`, cuts: test.cuts}
				answered := 0
				s := serve(func(n int, r *http.Request) (*http.Response, error) {
					if n < len(test.refused) && test.refused[n] {
						return refuse(n, r)
					}
					answered++
					return f.handler(answered-1, r)
				})
				_, _, _, err := download(t, client(t, s), get(pkg))
				if e := asError(t, err); e.Attempts != 3 || len(s.Requests()) != 3 {
					t.Errorf("%d requests, %v", len(s.Requests()), err)
				}
			})
		}
	})
	for name, test := range map[string]struct {
		cuts    []int
		resumes int
	}{
		"ignores ranges and breaks at the same place": {[]int{100_000, 100_000, 100_000, 100_000}, 2},
		"ignores ranges and breaks before":            {[]int{100_000, 50_000, 50_000, 50_000}, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			f := &file{data: data, cuts: test.cuts}
			s := serve(func(n int, r *http.Request) (*http.Response, error) {
				r.Header.Del("Range")
				return f.handler(n, r)
			})
			_, _, b, err := download(t, client(t, s), get(pkg))
			if e := asError(t, err); e.Attempts != 3 || len(s.Requests()) != 3 || !errors.Is(err, errReset) || b.Resumes() != test.resumes {
				t.Errorf("%d requests, %d resumes, %v", len(s.Requests()), b.Resumes(), err)
			}
		})
	}
}

// After few new bytes, resuming waits like a retry.
func TestResumeWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve((&file{data: random(200_000, 9), etag: `"v1"`, cuts: []int{10, 10, 10}}).handler)
		c := client(t, s)
		c.Retries = 3
		_, _, _, err := download(t, c, get(pkg))
		must.Do(t, err)
		at := s.Times()
		for i, most := range []time.Duration{1, 2, 4} {
			most *= time.Second
			if wait := at[i+1].Sub(at[i]); wait > most || wait < most/2 {
				t.Errorf("wait %d: %v", i+1, wait)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		b := must.Get(client(t, serve((&file{data: random(200_000, 9), cuts: []int{10}}).handler)).Open(ctx, get(pkg)))(t)
		defer b.Close()
		_, err := io.Copy(io.Discard, b)
		if asError(t, err); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// The rest is requested from the first URL, with its credentials.
func TestResumeAsksTheFirstURL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		data := random(200_000, 10)
		f := &file{data: data, etag: `"v1"`, cuts: []int{100_000}}
		var cdn int
		s := serve(func(n int, r *http.Request) (*http.Response, error) {
			if r.URL.Host == "registry.example.com" {
				return redirect(fmt.Sprintf("https://cdn.example.com/x?X-Amz-Signature=%d", n))(n, r)
			}
			cdn++
			return f.handler(cdn-1, r)
		})
		src := &source{token: secret}
		c := client(t, s)
		c.Credentials = src
		r := withToken("https://registry.example.com/download/x")
		got, _, _, err := download(t, c, r)
		must.Do(t, err)
		same(t, got, data)
		if len(s.Requests()) != 4 || src.lookups != 2 {
			t.Fatalf("%d requests, %d lookups", len(s.Requests()), src.lookups)
		}
		for i, req := range s.Requests() {
			if first := i%2 == 0; (req.Header.Get("Authorization") != "") != first {
				t.Errorf("%s got Authorization %q", req.URL, req.Header.Get("Authorization"))
			}
			if wanted := map[bool]string{true: "bytes=100000-"}[i >= 2]; req.Header.Get("Range") != wanted {
				t.Errorf("%s got Range %q", req.URL, req.Header.Get("Range"))
			}
		}
	})
}

// cutWriter aborts the connection after some bytes.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p[:min(len(p), w.left)])
	if w.left -= n; w.left == 0 {
		w.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// Interruptions while bytes are skipped, and errors with the last bytes.
func TestResumeSkipping(t *testing.T) {
	t.Parallel()
	data := random(200_000, 18)
	whole := func(end int, length int64, err error) handler {
		return func(_ int, r *http.Request) (*http.Response, error) {
			body := iotest.DataErrReader(&wire{ctx: r.Context(), data: bytes.NewReader(data[:end]), end: err})
			return reply(200, io.NopCloser(body), length), nil
		}
	}
	n := int64(len(data))
	stalled := sends(200, string(data[:50_000]), wire{stalls: true}, n)
	once := func(end int) handler {
		return func(_ int, r *http.Request) (*http.Response, error) {
			reads := 0
			return reply(200, io.NopCloser(readerFunc(func(p []byte) (int, error) {
				if reads++; reads > 1 {
					t.Error("read again after an error")
				}
				return copy(p, data[:end]), errReset
			})), n), nil
		}
	}
	for name, test := range map[string]struct {
		steps    []handler
		requests int
	}{
		"error with the last byte":           {[]handler{whole(100_000, n, errReset), whole(len(data), n, io.EOF)}, 2},
		"end with the last byte":             {[]handler{whole(100_000, -1, errReset), whole(len(data), -1, io.EOF)}, 2},
		"reset while skipping":               {[]handler{whole(100_000, n, errReset), whole(50_000, n, errReset), whole(len(data), n, io.EOF)}, 3},
		"truncated while skipping":           {[]handler{whole(100_000, n, errReset), whole(50_000, n, io.EOF), whole(len(data), n, io.EOF)}, 3},
		"error with the last byte skipped":   {[]handler{whole(100_000, n, errReset), whole(100_000, n, errReset), whole(len(data), n, io.EOF)}, 3},
		"stall while skipping":               {[]handler{whole(100_000, n, errReset), stalled, whole(len(data), n, io.EOF)}, 3},
		"error only once":                    {[]handler{once(10), whole(len(data), n, io.EOF)}, 2},
		"error only once, behind skipped":    {[]handler{whole(10, n, errReset), once(10), whole(len(data), n, io.EOF)}, 3},
		"unknown end just behind what was":   {[]handler{whole(len(data), -1, errReset), whole(len(data), -1, io.EOF)}, 2},
		"truncation seen with the last byte": {[]handler{whole(100_000, n, io.EOF), whole(len(data), n, io.EOF)}, 2},
	} {
		bubble(t, name, func(t *testing.T) {
			s := serve(test.steps...)
			got, _, _, err := download(t, client(t, s), get(pkg))
			if err != nil || len(s.Requests()) != test.requests {
				t.Fatalf("%d requests, %v", len(s.Requests()), err)
			}
			same(t, got, data)
		})
	}
}

// With a transport that ignores its context, requests still time out.
func TestTransportThatIgnoresItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closed := 0
		late := func(int, *http.Request) (*http.Response, error) {
			time.Sleep(11 * time.Second)
			return reply(200, closer{strings.NewReader("late"), func() { closed++ }}, 4), nil
		}
		c := client(t, serve(late))
		c.Retries = -1
		_, _, _, err := download(t, c, get(pkg))
		if asError(t, err); !errors.Is(err, os.ErrDeadlineExceeded) || closed != 1 {
			t.Errorf("%v, closed %d times", err, closed)
		}

		// A stream that arrives after Close is closed.
		f := &file{data: random(200_000, 19), cuts: []int{100_000}}
		b, err := client(t, serve(f.handler, func(n int, r *http.Request) (*http.Response, error) {
			time.Sleep(5 * time.Second)
			return reply(206, closer{bytes.NewReader(f.data[100_000:]), func() { closed++ }}, 100_000, "Content-Range: bytes 100000-199999/200000"), nil
		})).Open(t.Context(), get(pkg))
		must.Do(t, err)
		time.AfterFunc(time.Second, func() { b.Close() })
		_, err = io.Copy(io.Discard, b)
		if asError(t, err); !errors.Is(err, os.ErrClosed) || closed != 2 {
			t.Errorf("%v, closed %d times", err, closed)
		}
	})
}

type closer struct {
	io.Reader
	close func()
}

func (c closer) Close() error { c.close(); return nil }

// Credentials is called again when the download resumes. Its error ends the download.
func TestResumeWithAFailingSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &source{token: secret}
		f := &file{data: random(200_000, 20), cuts: []int{100_000}}
		s := serve(func(n int, r *http.Request) (*http.Response, error) {
			src.err = errReset
			return f.handler(n, r)
		})
		c := client(t, s)
		c.Credentials = src
		r := withToken(pkg)
		_, _, _, err := download(t, c, r)
		if _, ok := errors.AsType[*auth.SourceError](err); !ok || len(s.Requests()) != 1 {
			t.Errorf("%d requests, %v", len(s.Requests()), err)
		}
		asError(t, err)
	})
}

// For all answers to a request for the rest, there is no panic, not more bytes than declared, no other
// bytes than in the first answer, and all errors are typed.
func FuzzResume(f *testing.F) {
	f.Add(206, "bytes 70000-79999/80000", `"v1"`, "", int64(10_000), 10_000)
	f.Add(206, "bytes 70000-79999/*", "", "", int64(-1), 10_000)
	f.Add(206, "bytes 7-6/5", "", "", int64(-1), 10)
	f.Add(416, "bytes */70000", "", "", int64(0), 0)
	f.Add(200, "", `W/"v1"`, "Fri, 31 Dec 1999 00:00:00 GMT", int64(80_000), 80_000)
	f.Fuzz(func(t *testing.T, code int, span, etag, date string, length int64, sent int) {
		if code < 200 || code > 599 || sent < 0 || sent > 100_000 || length < -1 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			data := random(80_000, 22)
			first := &file{data: data, etag: etag, date: date, chunks: length < 0, cuts: []int{70_000}}
			s := serve(first.handler, func(_ int, r *http.Request) (*http.Response, error) {
				body := append(bytes.Clone(data), data...)[:sent]
				if code == 206 {
					body = append(bytes.Clone(data[70_000:]), data...)[:min(sent, 90_000)]
				}
				resp := reply(code, &wire{ctx: r.Context(), data: bytes.NewReader(body)}, length)
				resp.Header = http.Header{"Content-Range": {span}, "Etag": {etag}, "Last-Modified": {date}}
				return resp, nil
			})
			c := client(t, s)
			c.Retries = 1
			got, _, b, err := download(t, c, get(pkg))
			if err != nil {
				asError(t, err)
			}
			if len(got) < 70_000 || !bytes.Equal(got[:70_000], data[:70_000]) || b.Size >= 0 && int64(len(got)) > b.Size {
				t.Errorf("%d bytes of %d", len(got), b.Size)
			}
			if err == nil && b.Size >= 0 && !bytes.Equal(got, data) {
				t.Error("the file differs from the first answer")
			}
		})
	})
}
