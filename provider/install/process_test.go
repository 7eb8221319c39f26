package install_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

var roleFile = flag.String("install.role", "", "be a process that installs what this `file` says; see TestChild")

// role is the task of a child process. The processes wait in real time.
type role struct {
	Dir, Server, CA string
	Accept          map[string][]checksum.Hash // by provider; nil without a lock file
	Times           int                        // how often each provider is installed at once
	Seed            uint64                     // of the order
	Hold            string                     // only lock this file, as the CLI does, until killed
}

// fleet are the providers that the processes install.
var fleet = []string{"alpha", "beta", "gamma", "delta", "epsilon"}

func fleetProvider(name string) addrs.Provider {
	return addrs.MustParseProvider("registry.example.com/acme/" + name)
}

// fleetServer serves the fleet over TLS.
type fleetServer struct {
	*httptest.Server
	reg     *regtest.Registry
	hold    chan struct{} // if not nil, archives wait until it is closed
	letGo   func()        // closes it
	asked   atomic.Int64  // archives
	waiting atomic.Int64  // calls that wait for others
}

func newFleet(t *testing.T, size int64, hold bool) *fleetServer {
	t.Helper()
	s := &fleetServer{reg: regtest.New("registry.example.com")}
	for _, name := range fleet {
		s.reg.AddProvider(regtest.Provider{
			Address: "acme/" + name, Version: v1.String(), Platforms: []string{linux.String()}, Size: size,
			Files: map[string]string{"docs/": "", "docs/a.txt": "text", "LICENSE": "free"},
		})
	}
	if hold {
		s.hold = make(chan struct{})
		s.letGo = sync.OnceFunc(func() { close(s.hold) })
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".zip") {
			s.asked.Add(1)
			s.check()
			if s.hold != nil {
				<-s.hold
			}
		}
		s.reg.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that were killed
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// check releases the archives when every call has requested one or waits.
func (s *fleetServer) check() {
	if s.hold != nil && s.asked.Load()+s.waiting.Load() == int64(8*8*len(fleet)) {
		s.letGo()
	}
}

// start starts a process that installs from s.
func (s *fleetServer) start(t *testing.T, r role) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	r.Server, r.CA = s.Listener.Addr().String(), string(cert)
	return start(t, r)
}

// start starts a process with this role and returns its output after it is ready.
func start(t *testing.T, r role) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	return startProgram(t, os.Args[0], r, "ready")
}

// startProgram is start with a copy of this program, and waits for another word in the output.
func startProgram(t *testing.T, program string, r role, word string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	dir := t.TempDir()
	text := must.Get(json.Marshal(r))(t)
	cmd := exec.Command(program, "-test.run=^TestChild$", "-test.timeout=120s", "-install.role="+write(t, dir, "role.json", string(text)))
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // not a second for each process
	out, err := cmd.StdoutPipe()
	if err == nil {
		_, err = cmd.StdinPipe() // which ends with this process
	}
	if err == nil {
		err = cmd.Start()
	}
	must.Do(t, err)
	lines := bufio.NewScanner(out)
	wantWord(t, lines, word)
	return cmd, lines
}

// wantWord waits for a word in the output.
func wantWord(t *testing.T, lines *bufio.Scanner, word string) {
	t.Helper()
	for lines.Scan() {
		if lines.Text() == word {
			return
		}
	}
	t.Fatalf("the process ended before it was %s", word)
}

// source returns a client that finds every host at the server.
func (r role) source() *regclient.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(r.CA))
	dialer := &http.Transport{
		// The certificate is for example.com.
		TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "example.com"},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, r.Server)
		},
	}
	// No limit of time, because the server waits until the slowest process has started.
	return &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: dialer}, Timeout: -1, Idle: -1}}
}

// TestChild is the child process. Without a role it does nothing.
func TestChild(t *testing.T) {
	if *roleFile == "" {
		return
	}
	text := must.Get(os.ReadFile(*roleFile))(t)
	var r role
	must.Do(t, json.Unmarshal(text, &r))
	if r.Hold != "" {
		must.Do(t, lockAsCLI(r.Hold))
	}
	fmt.Println("\nready")
	if r.Hold != "" {
		os.Stdin.Read(make([]byte, 1))
		return
	}
	must.Do(t, r.play(t.Context()))
}

// play installs the fleet.
func (r role) play(ctx context.Context) error {
	src := r.source()
	order := rand.New(rand.NewPCG(r.Seed, 1)).Perm(len(fleet))
	errs := make(chan error)
	for _, i := range order {
		for range r.Times {
			go func() { errs <- r.one(ctx, src, fleet[i]) }()
		}
	}
	var first error
	for range r.Times * len(fleet) {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

func (r role) one(ctx context.Context, src *regclient.Client, name string) error {
	pkg, err := src.ProviderPackage(ctx, fleetProvider(name), v1, linux)
	if err != nil {
		return err
	}
	o := install.Options{Progress: func(e progress.Event) { fmt.Println(e.Kind, name, e.Bytes, e.Total) }}
	if r.Accept != nil {
		o.Policy.Accept = checksum.NewSet(r.Accept[name]...)
	}
	d := &install.Dir{Path: r.Dir}
	done, err := d.Install(ctx, src, pkg, o)
	if err != nil {
		return err
	}
	_, err = done.Executable()
	return err
}

// lock installs the fleet in another directory and returns the hashes of each provider.
func (s *fleetServer) lock(t *testing.T) map[string][]checksum.Hash {
	t.Helper()
	d := newDir(t)
	src := &regclient.Client{Transport: &transport.Settings{HTTP: s.reg.Client()}}
	accept := map[string][]checksum.Hash{}
	for _, name := range fleet {
		pkg := must.Get(src.ProviderPackage(t.Context(), fleetProvider(name), v1, linux))(t)
		done := must.Get(d.Install(t.Context(), src, pkg, install.Options{}))(t)
		accept[name] = done.Report.Local
	}
	return accept
}

// TestColdStart: eight processes with eight goroutines each install the same five providers into a
// new directory, and each package is downloaded once. The processes without a lock file start
// before the first package is installed, because later they would need the archive.
func TestColdStart(t *testing.T) {
	t.Parallel()
	for _, locked := range []bool{true, false} {
		t.Run(fmt.Sprintf("locked=%v", locked), func(t *testing.T) {
			t.Parallel()
			if !locked {
				wantNotes(t)
			}
			s := newFleet(t, 300_000, !locked)
			r := role{Dir: filepath.Join(t.TempDir(), "plugins"), Times: 8}
			if runtime.GOOS == "windows" {
				r.Times = 1 // Wine takes minutes for what takes seconds elsewhere
			}
			accept := s.lock(t)
			if locked {
				r.Accept = accept
			}
			var wg sync.WaitGroup
			for i := range 8 {
				r.Seed = uint64(i)
				cmd, lines := s.start(t, r)
				wg.Go(func() { s.watch(t, cmd, lines) })
			}
			wg.Wait()
			if n := s.asked.Load(); n != int64(len(fleet)) {
				t.Errorf("%d downloads of %d packages", n, len(fleet))
			}
			wantFleet(t, r.Dir, accept, true)
		})
	}
}

// watch waits for the end of a process and counts its waiting calls.
func (s *fleetServer) watch(t *testing.T, cmd *exec.Cmd, lines *bufio.Scanner) {
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if strings.HasPrefix(lines.Text(), string(progress.Waiting)+" ") {
			s.waiting.Add(1)
			s.check()
		}
	}
	if err := cmd.Wait(); err != nil {
		if s.hold != nil {
			s.letGo()
		}
		t.Errorf("%v\n%s", err, strings.Join(said[max(0, len(said)-10):], "\n"))
	}
}

// wantFleet checks that each package in the directory has accepted content, and if complete is set,
// that all are there and nothing else.
func wantFleet(t *testing.T, dir string, accept map[string][]checksum.Hash, complete bool) {
	t.Helper()
	d := &install.Dir{Path: dir}
	count := 0
	for pkg, err := range d.All() {
		must.Do(t, err)
		count++
		if _, err := d.Lookup(t.Context(), pkg.Provider, pkg.Version, pkg.Platform, checksum.NewSet(accept[pkg.Provider.Type()]...)); err != nil {
			t.Errorf("under its final name: %v", err)
		}
	}
	if !complete {
		return
	}
	if count != len(fleet) {
		t.Errorf("%d packages", count)
	}
	if left := strays(t, d); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// strays returns the names in a plugin directory that neither belong to a package nor lead to one.
func strays(t *testing.T, d *install.Dir) []string {
	t.Helper()
	var packages []string
	for pkg, err := range d.All() {
		must.Do(t, err)
		rel := must.Get(filepath.Rel(d.Path, pkg.Dir))(t)
		packages = append(packages, filepath.ToSlash(rel))
	}
	return slices.DeleteFunc(names(t, d.Path), func(name string) bool {
		name, _, _ = strings.Cut(name, " -> ")
		return slices.ContainsFunc(packages, func(pkg string) bool {
			return name == pkg || strings.HasPrefix(name, pkg+"/") || strings.HasSuffix(name, "/") && strings.HasPrefix(pkg+"/", name)
		})
	})
}

var (
	kills    = flag.Int("install.kills", 10, "how many processes TestKill kills")
	killSeed = flag.Uint64("install.seed", 0, "the seed of TestKill; 0: a random one")
)

// phases are the steps that a process reports and that the kills aim at in turn.
var phases = []string{"ready", string(progress.Bytes), string(progress.Unpacking), string(progress.Verified), string(progress.Installed)}

// TestKill kills processes at random points. A kill leaves no partial or unverified package under
// its final name, and the next install completes the directory and leaves nothing else.
func TestKill(t *testing.T) {
	t.Parallel()
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-install.seed=%d", seed)
	k := &killer{s: newFleet(t, 400_000, false), r: rand.New(rand.NewPCG(seed, 2)), seen: map[string]int{}}
	k.accept = k.s.lock(t)
	for i := 0; i < *kills; {
		if i%3 == 0 {
			k.dir = filepath.Join(t.TempDir(), "plugins")
		}
		phase, killed := k.kill(t, phases[i%len(phases)])
		if !killed {
			os.RemoveAll(k.dir) // it was done already
			continue
		}
		t.Logf("kill %d: %s", i, phase)
		kind, _, _ := strings.Cut(phase, " ")
		k.seen[kind]++
		wantFleet(t, k.dir, k.accept, false)
		i++
		if i%3 == 0 || i == *kills {
			k.finish(t)
		}
	}
	t.Logf("phases: %v", k.seen)
	if *kills >= 25 && len(k.seen) < 3 {
		t.Errorf("all kills fell into the same few phases: %v", k.seen)
	}
}

type killer struct {
	s      *fleetServer
	r      *rand.Rand
	dir    string
	accept map[string][]checksum.Hash
	seen   map[string]int
}

// kill starts a process and kills it soon after one of its first reports of the phase aim. It
// returns the last reported phase, and false if the process had finished.
func (k *killer) kill(t *testing.T, aim string) (phase string, killed bool) {
	t.Helper()
	r := role{Dir: k.dir, Times: 1 + k.r.IntN(2), Seed: k.r.Uint64()}
	if k.r.IntN(2) == 0 {
		r.Accept = k.accept
	}
	more := k.r.IntN(3)
	delay := time.Duration(k.r.IntN(3000)) * time.Microsecond
	cmd, lines := k.s.start(t, r)
	phase = "ready"
	for more >= 0 && aim != "ready" && lines.Scan() && lines.Text() != "PASS" {
		phase = lines.Text()
		if strings.HasPrefix(phase, aim+" ") {
			more--
		}
	}
	time.Sleep(delay)
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("error %v, want %v", err, os.ErrProcessDone)
	}
	for lines.Scan() {
		if text := lines.Text(); text != "PASS" && !strings.HasPrefix(text, "---") {
			phase = text // it was faster than its words
		}
	}
	return phase, cmd.Wait() != nil
}

// finish installs the missing packages.
func (k *killer) finish(t *testing.T) {
	t.Helper()
	cmd, lines := k.s.start(t, role{Dir: k.dir, Times: 1})
	k.s.watch(t, cmd, lines)
	d := &install.Dir{Path: k.dir}
	if _, err := d.Prune(t.Context(), nil); err != nil {
		t.Error(err)
	}
	wantFleet(t, k.dir, k.accept, true)
}

// TestWaiting: Install waits for the lock of the CLI, reports it once, and ends with its context.
func TestWaiting(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{})
	d := newDir(t)
	path := filepath.Join(d.Path, home+".lock")
	write(t, filepath.Dir(path), filepath.Base(path), "")
	cli, _ := start(t, role{Hold: path})
	waiting := make(chan struct{})
	var kinds []progress.Kind
	report := func(e progress.Event) {
		if e.Kind == progress.Waiting {
			close(waiting)
		}
		kinds = append(kinds, e.Kind)
	}
	result := make(chan error)
	go func() {
		_, err := d.Install(t.Context(), o.src, o.pkg, install.Options{Progress: report})
		result <- err
	}()
	<-waiting
	if n := o.reg.Count(regtest.Archive); n != 0 {
		t.Errorf("%d downloads without the lock", n)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := d.Install(ctx, o.src, o.pkg, install.Options{Progress: func(progress.Event) { cancel(cause) }})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := d.Place(ctx, o.install(t, newDir(t), install.Options{}), true); !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
	// The lock of a dead process is free.
	cli.Process.Kill()
	cli.Wait()
	if err := <-result; err != nil {
		t.Error(err)
	}
	if kinds[0] != progress.Waiting || kinds[len(kinds)-1] != progress.Installed {
		t.Errorf("events %q", kinds)
	}
}

// TestInUse: a running program is never written to.
func TestInUse(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // what is open cannot be replaced
	}
	o := newOffer(t, regtest.Provider{})
	d := newDir(t)
	first := o.install(t, d, install.Options{})
	f := must.Get(os.Open(filepath.Join(first.Dir, program)))(t)
	defer f.Close()
	was := must.Get(io.ReadAll(f))(t)
	write(t, first.Dir, "more", "other content")
	o.install(t, d, install.Options{})
	if is, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20)); err != nil || string(is) != string(was) {
		t.Errorf("it was written to: %v", err)
	}
	open := must.Get(f.Stat())(t)
	if named, err := os.Stat(f.Name()); err != nil || os.SameFile(open, named) {
		t.Errorf("the package was not replaced: %v", err)
	}
}
