package hostile_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/testkit/regtest"
)

var errVeto = errors.New("this host is not on the list")

// vetoed checks that err is a veto and that the host got no request.
func (w *world) vetoed(t *testing.T, err error, host string) {
	t.Helper()
	if typed(t, err); !errors.Is(err, errVeto) {
		t.Errorf("error %v, want the veto", err)
	}
	for _, q := range w.reg.Requests() {
		if q.Host == host {
			t.Errorf("%v was made", q)
		}
	}
}

// against is a veto of one host.
func against(host string) func(string) error {
	return func(h string) error {
		if h == host {
			return errVeto
		}
		return nil
	}
}

// vetoAt is a veto of the nth request for the host of the operation.
func (op *operation) vetoAt(n int) func(string) error {
	asked := 0
	return func(host string) error {
		if host != op.host {
			return nil // its services are cached
		}
		if asked++; asked == n {
			return errVeto
		}
		return nil
	}
}

// TestVetoFirst: VetoHost is called before each contact with a host.
func TestVetoFirst(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		w := newWorld(t)
		run := op.ready(t, w)
		w.veto = func(string) error { return errVeto }
		_, err := run(t.Context())
		w.vetoed(t, err, op.host)
		if e := typed(t, err); e.attempts != 0 || len(w.reg.Requests()) != 0 {
			t.Errorf("%s: %d attempts, and requests %v", op.name, e.attempts, w.reg.Requests())
		}
	}
}

// TestVetoIsAskedAboutAll: VetoHost is called for each contacted host and no other.
func TestVetoIsAskedAboutAll(t *testing.T) {
	t.Parallel()
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.reg.AddFault(regtest.Fault{Kind: regtest.Archive | regtest.ModulePackage, Redirect: "https://" + elsewhere + ":8443"})
			var asked syncList
			w.veto = func(host string) error { asked.add(host); return nil }
			must.Do(t, verb(t.Context(), w, t.TempDir()))
			var contacted []string
			for _, q := range w.reg.Requests() {
				contacted = append(contacted, q.Host)
			}
			slices.Sort(contacted)
			got := asked.sorted()
			// Callers that share a request, or find services in the cache, ask for themselves.
			if len(got) < len(contacted) || !slices.Equal(slices.Compact(got), slices.Compact(contacted)) {
				t.Errorf("asked about %v, contacted %v", got, contacted)
			}
		})
	}
}

// TestVetoRedirect: a redirect to a vetoed host is not followed, and there is no second attempt.
func TestVetoRedirect(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for _, target := range []string{elsewhere, elsewhere + ":8443", "169.254.169.254", "[fd00::1]", "127.0.0.1"} {
			w := newWorld(t)
			run := op.ready(t, w, regtest.Fault{Host: op.host, Redirect: "https://" + strings.ToUpper(target)})
			w.veto = against(target)
			_, err := run(t.Context())
			w.vetoed(t, err, target)
			if n := w.count()[op.kind]; n != 1 {
				t.Errorf("%s to %s: %d requests", op.name, target, n)
			}
		}
		if op.beside() {
			continue // which of the two is asked about cannot be told
		}
		w := newWorld(t)
		run := op.ready(t, w, regtest.Fault{Hops: 3})
		w.veto = op.vetoAt(4)
		_, err := run(t.Context())
		if typed(t, err); !errors.Is(err, errVeto) || w.count()[op.kind] != 3 {
			t.Errorf("%s: %d requests, %v", op.name, w.count()[op.kind], err)
		}
	}
}

// TestVetoLater: VetoHost is called for each attempt and for the rest of a download.
func TestVetoLater(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			run := op.ready(t, w, regtest.Fault{First: 1, Status: 503}, regtest.Fault{Skip: 1, Redirect: "https://" + elsewhere})
			w.veto = against(elsewhere)
			_, err := run(t.Context())
			w.vetoed(t, err, elsewhere)
		})
		if !op.streams() || op.kind == regtest.ModulePage {
			continue
		}
		for _, redirected := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				run := op.ready(t, w, cut)
				if redirected { // the rest is elsewhere
					w.reg.AddFault(regtest.Fault{Kind: op.kind, Host: op.host, Skip: 1, Redirect: "https://" + elsewhere})
					w.veto = against(elsewhere)
				} else {
					w.veto = op.vetoAt(2)
				}
				_, err := run(t.Context())
				w.vetoed(t, err, elsewhere)
				if n := w.count()[op.kind]; redirected && n != 2 || !redirected && n != 1 {
					t.Errorf("%s: %d requests", op.name, n)
				}
			})
		}
	}
}

// TestVetoIndirections: VetoHost is called for services, files and archives, and for locations in
// pages and headers of module packages.
func TestVetoIndirections(t *testing.T) {
	t.Parallel()
	for name, f := range indirect("https://" + elsewhere + "/") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachVerb(t, f, against(elsewhere), func(w *world, err error) { w.vetoed(t, err, elsewhere) })
		})
	}
}

// TestVetoGit: a vetoed git repository does not even start git.
func TestVetoGit(t *testing.T) {
	t.Parallel()
	for _, location := range []string{"git::https://" + elsewhere + "/x.git", "git::ssh://git@" + elsewhere + "/x.git", "git@" + elsewhere + ":x.git"} {
		w := newWorld(t)
		w.reg.AddFault(regtest.Fault{Kind: regtest.ModuleLocation, Edit: func(doc map[string]any) { doc["location"] = location }})
		o := module.Options{Git: &module.Git{Path: "/nonexistent/git", VetoHost: against(elsewhere)}}
		_, err := module.Download(t.Context(), w.registry(), module.Request{Source: addrs.ModuleSource{Module: plain}, Version: v1, Dir: t.TempDir() + "/m"}, o)
		w.vetoed(t, err, elsewhere)
	}
}

// TestVetoAndProxy: with a proxy, VetoHost is called for the target and not for the proxy, and
// before the proxy is contacted.
func TestVetoAndProxy(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for _, veto := range []bool{true, false} {
			w := newWorld(t)
			w.retries = -1
			sw := &switched{RoundTripper: w.reg}
			w.http = &http.Client{Transport: sw}
			run := op.ready(t, w)

			var dialled syncList
			sw.RoundTripper = &http.Transport{
				Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.example.com:3128"}),
				DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
					dialled.add(addr)
					return nil, errors.New("no proxy")
				},
			}
			var asked syncList
			w.veto = func(host string) error {
				if host == registryHost && op.host != registryHost {
					return nil // its services are cached
				}
				asked.add(host)
				if veto {
					return errVeto
				}
				return nil
			}
			_, err := run(t.Context())
			typed(t, err)
			hosts := slices.Compact(asked.sorted())
			if !slices.Equal(hosts, []string{op.host}) || veto != errors.Is(err, errVeto) {
				t.Errorf("%s: asked about %v: %v", op.name, hosts, err)
			}
			at := slices.Compact(dialled.sorted())
			if veto && len(at) != 0 || !veto && !slices.Equal(at, []string{"proxy.example.com:3128"}) {
				t.Errorf("%s: with a veto: %v; dialled %v", op.name, veto, at)
			}
		}
	}
}

// switched is a transport that can be replaced between two requests.
type switched struct{ http.RoundTripper }

// syncList is a list that is safe for concurrent use.
type syncList struct {
	mu   sync.Mutex
	list []string
}

func (l *syncList) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, s)
}

func (l *syncList) sorted() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.list))
}
