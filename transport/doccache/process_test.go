package doccache_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/webtest"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport/doccache"
)

var (
	childDir = flag.String("doccache.dir", "", "be a process that works with the cache in this `directory`; see TestChild")
	childAt  = flag.String("doccache.server", "", "the address of the registry of that process, and a file with its authority, with a comma between")
)

// TestChild is the child process of the other tests.
func TestChild(t *testing.T) {
	if *childDir == "" {
		return
	}
	addr, ca, _ := strings.Cut(*childAt, ",")
	pem := must.Get(os.ReadFile(ca))(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	tr := &doccache.Transport{
		Base: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true},
		Dir:  *childDir, FreshFor: time.Hour,
	}
	tr.SetWait(time.Minute) // where many processes share few processors
	var list []addrs.Provider
	for _, name := range []string{"alpha", "beta", "gamma", "delta", "epsilon"} {
		list = append(list, addrs.MustParseProvider(addr+"/acme/"+name))
	}
	disktest.Stop("start")
	must.Do(t, findAll(t.Context(), tr, list, ""))
	if s := tr.Stats(); s.Failed > 0 {
		t.Errorf("%+v", s)
	}
}

// start starts a child process, which waits for a line.
func start(t *testing.T, dir string, s *regtest.Server) *disktest.Process {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	must.Do(t, os.WriteFile(ca, s.CertPEM, 0o600))
	return disktest.Start(t, "start", "-doccache.dir="+dir, "-doccache.server="+s.Addr+","+ca)
}

// serve starts a server for child processes.
func serve(t *testing.T) (*regtest.Registry, *regtest.Server) {
	t.Helper()
	reg, _ := fiveProviders(regtest.Caching{})
	reg.Latency = 0
	s := must.Get(reg.ServeTLS())(t)
	t.Cleanup(s.Close)
	return reg, s
}

// TestProcesses starts several processes at the same time with an empty directory. They make one
// request for each document, and later processes make none.
func TestProcesses(t *testing.T) {
	t.Parallel()
	reg, s := serve(t)
	dir := filepath.Join(t.TempDir(), "cache")
	for round := range 2 {
		var all []*disktest.Process
		for range 6 {
			all = append(all, start(t, dir, s))
		}
		webtest.Together(len(all), func(i int) {
			if err := all[i].GoOn(); err != nil {
				t.Error(err)
			}
		})
		if n := reg.Count(0); n != allDocuments {
			t.Errorf("round %d: %d requests in all, want %d", round, n, allDocuments)
		}
	}
	if n := len(entries(t, dir)); n != allDocuments {
		t.Errorf("%d entries", n)
	}
	checkFiles(t, dir)
}

// TestKilled: if a process is killed, other processes that wait for its answer continue.
func TestKilled(t *testing.T) {
	t.Parallel()
	reg, s := serve(t)
	reg.AddFault(regtest.Fault{Kind: regtest.Discovery, First: 1, Break: "stall", After: 3})
	dir := t.TempDir()
	stuck, waits := start(t, dir, s), start(t, dir, s)
	must.Do(t, stuck.Tell())
	for reg.Count(regtest.Discovery) == 0 {
		time.Sleep(time.Millisecond) // of another process
	}
	done := make(chan error)
	go func() { done <- waits.GoOn() }()
	stuck.Kill()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := reg.Count(regtest.Discovery); n != 2 {
		t.Errorf("%d requests for the document, want 2", n)
	}
	checkFiles(t, dir)
}

// TestWait: concurrent requests for a document make one request, unless the answer must not be cached
// or the wait is too long.
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
		bubble(t, test.name, func(t *testing.T, dir string) {
			o := webtest.Serve(webtest.After(test.latency, answer(http.StatusOK, test.header, `{}`)))
			webtest.Together(4, func(i int) {
				time.Sleep(time.Duration(i) * second / 10)
				tr := &doccache.Transport{Base: o, Dir: dir}
				if _, body := get(t, tr, request(t, doc)); body != `{}` {
					t.Errorf("%q", body)
				}
			})
			if n := count(o); n != test.requests {
				t.Errorf("%d requests, want %d", n, test.requests)
			}
			checkFiles(t, dir)
		})
	}
}

// TestStuckAnswer: an incomplete answer delays other requests for the same document for a limited
// time, and requests for other documents not at all.
func TestStuckAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		pr, pw := io.Pipe()
		ordinary := numbered("Cache-Control", "max-age=60")
		o := webtest.Serve(edited(ordinary, func(resp *http.Response) { resp.Body = pr }), ordinary)
		tr := &doccache.Transport{Base: o, Dir: dir}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, body := get(t, tr, request(t, doc)); body != `{"n":1}` {
				t.Errorf("%q", body)
			}
		})
		synctest.Wait()
		begin := time.Now()
		want(t, tr, doc+"?page=2", `{"n":2}`, 2)
		if d := time.Since(begin); d != 0 {
			t.Errorf("another document took %v", d)
		}
		want(t, tr, doc, `{"n":3}`, 3)
		if d := time.Since(begin); d != 5*second {
			t.Errorf("the same document took %v, want 5s", d)
		}
		_, _ = io.WriteString(pw, `{"n":1}`)
		pw.Close()
		wg.Wait()
		checkFiles(t, dir)
	})
}

// TestInterruptedBody: the caller gets the received bytes and the error.
func TestInterruptedBody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := webtest.Serve(edited(answer(http.StatusOK, headers(), ""), func(resp *http.Response) {
		resp.Body, resp.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(`{"a`), iotest.ErrReader(errDown))), 9
	}))
	resp := must.Get((&doccache.Transport{Base: o, Dir: dir}).RoundTrip(request(t, doc)))(t)
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != `{"a` || !errors.Is(err, errDown) {
		t.Errorf("body %q, %v; want the received bytes and %v", body, err, errDown)
	}
	if list := entries(t, dir); len(list) > 0 {
		t.Errorf("%v is cached", list)
	}
}
