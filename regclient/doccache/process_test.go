package doccache_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/regclient/doccache"
	"github.com/tofureg/tofureg/regclient/regtest"
)

var (
	childDir = flag.String("doccache.dir", "", "be a process that works with the cache in this `directory`; see TestChild")
	childAt  = flag.String("doccache.server", "", "the address of the registry of that process, and a file with its authority, with a comma between")
)

// TestChild is the process of the tests below and does nothing by itself.
func TestChild(t *testing.T) {
	if *childDir == "" {
		return
	}
	addr, ca, _ := strings.Cut(*childAt, ",")
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	tr := &doccache.Transport{
		Base: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true},
		Dir:  *childDir, FreshFor: time.Hour, Wait: time.Minute,
	}
	var list []addrs.Provider
	for _, name := range []string{"alpha", "beta", "gamma", "delta", "epsilon"} {
		list = append(list, addrs.MustParseProvider(addr+"/acme/"+name))
	}
	fmt.Println("\nready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := work(t.Context(), tr, list, ""); err != nil {
		t.Fatal(err)
	}
	if s := tr.Stats(); s.Failed > 0 {
		t.Errorf("%+v", s)
	}
}

// process is one that waits to be told to begin.
type process struct {
	cmd   *exec.Cmd
	begin io.WriteCloser
	lines *bufio.Scanner
}

func start(t *testing.T, dir string, s *regtest.Server) *process {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CertPEM, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.timeout=60s", "-doccache.dir="+dir, "-doccache.server="+s.Addr+","+ca)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd, in, bufio.NewScanner(out)}
	for p.lines.Scan() {
		if p.lines.Text() == "ready" {
			return p
		}
	}
	p.kill()
	t.Fatal("the process does not start")
	return nil
}

func (p *process) run(t *testing.T) {
	if _, err := io.WriteString(p.begin, "\n"); err != nil {
		t.Error(err)
	}
	var said []string
	for p.lines.Scan() {
		said = append(said, p.lines.Text())
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, strings.Join(said, "\n"))
	}
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// serve starts a server for other processes, which can wait in real time only.
func serve(t *testing.T) (*regtest.Registry, *regtest.Server) {
	t.Helper()
	reg, _ := fleet(regtest.Caching{})
	reg.Latency = 0
	s, err := reg.ServeTLS()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return reg, s
}

// TestProcesses has several processes begin at the same moment with an empty directory: of
// each document one request is made, and none by those that come later.
func TestProcesses(t *testing.T) {
	t.Parallel()
	reg, s := serve(t)
	dir := filepath.Join(t.TempDir(), "cache")
	for round := range 2 {
		var all []*process
		for range 6 {
			all = append(all, start(t, dir, s))
		}
		var wg sync.WaitGroup
		for _, p := range all {
			wg.Go(func() { p.run(t) })
		}
		wg.Wait()
		if n := reg.Count(0); n != fleetDocuments {
			t.Errorf("round %d: %d requests in all, want %d", round, n, fleetDocuments)
		}
	}
	if n := len(entries(t, dir)); n != fleetDocuments {
		t.Errorf("%d entries", n)
	}
	clean(t, dir)
}

// TestKilled: a process that is killed while others wait for its answer leaves nothing that
// would stop them.
func TestKilled(t *testing.T) {
	t.Parallel()
	reg, s := serve(t)
	reg.AddFault(regtest.Fault{Kind: regtest.Discovery, First: 1, Break: regtest.Stall, After: 3})
	dir := t.TempDir()
	stuck, waits := start(t, dir, s), start(t, dir, s)
	if _, err := io.WriteString(stuck.begin, "\n"); err != nil {
		t.Fatal(err)
	}
	for reg.Count(regtest.Discovery) == 0 {
		time.Sleep(time.Millisecond) // of another process
	}
	done := make(chan struct{})
	go func() { waits.run(t); close(done) }()
	stuck.kill()
	<-done
	if n := reg.Count(regtest.Discovery); n != 2 {
		t.Errorf("%d requests for the document, want 2", n)
	}
	clean(t, dir)
}
