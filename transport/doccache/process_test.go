package doccache_test

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/regclient/regtest"
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
		var wg sync.WaitGroup
		for _, p := range all {
			wg.Go(func() {
				if err := p.GoOn(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
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
