package mirrordir_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
)

var (
	kills    = flag.Int("mirrordir.kills", 10, "how many processes TestKill kills")
	killSeed = flag.Uint64("mirrordir.seed", 0, "seed of TestKill; 0 means a random seed")
	addTo    = flag.String("mirrordir.add", "", "be a process that adds to the mirror in this `directory`; see TestChild")
	addSeed  = flag.Uint64("mirrordir.addseed", 0, "what that process adds")
)

// fleet is what the processes add: each its own choice, in its own order. Contents are the
// same in all processes, keys are not.
var fleet = struct {
	providers, versions []string
	platforms           []addrs.Platform
}{
	[]string{"registry.example.com/acme/alpha", "other.example.com/acme/beta"},
	[]string{"1.0.0", "1.1.0", "2.0.0-rc1"},
	three,
}

func fleetRegistry() *regtest.Registry {
	reg := regtest.New("registry.example.com")
	for _, p := range fleet.providers {
		for _, v := range fleet.versions {
			reg.AddProvider(regtest.Provider{Address: p, Version: v, Platforms: names(fleet.platforms), Size: 40_000})
		}
	}
	return reg
}

// choose returns about half of the packages.
func choose(r *rand.Rand) (list []mirrordir.Want) {
	for _, p := range fleet.providers {
		for _, v := range fleet.versions {
			platforms := slices.Clone(fleet.platforms)
			r.Shuffle(len(platforms), func(i, j int) { platforms[i], platforms[j] = platforms[j], platforms[i] })
			if n := r.IntN(len(platforms) + 1); n > 0 {
				list = append(list, mirrordir.Want{Provider: addrs.MustParseProvider(p), Version: addrs.MustParseVersion(v), Platforms: platforms[:n]})
			}
		}
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// TestChild is the process of the following tests. It does nothing by itself.
func TestChild(t *testing.T) {
	if *addTo == "" {
		return
	}
	m := open(t, *addTo)
	if *addSeed%2 == 0 {
		// The parent process reads in which step this one died.
		talking := &mirrortest.WatchedStore{Store: m.Store, Before: func(op, name string) error {
			fmt.Println(op, filepath.Ext(strings.TrimSuffix(name, ".json")), name)
			return nil
		}, After: func(op, name string) {
			if op == "write" {
				fmt.Println("written", name)
			}
		}}
		m = &mirrordir.Mirror{Store: mirrortest.LockedStore{Store: talking, Dir: m.Store.(*storage.Dir)}, TempDir: t.TempDir()}
	}
	fmt.Println("\nready")
	r := rand.New(rand.NewPCG(*addSeed, 1))
	for range 1 + r.IntN(2) {
		_, err := m.Add(t.Context(), client(fleetRegistry()), choose(r), mirrordir.AddOptions{Parallel: 1 + r.IntN(4), Progress: func(e progress.Event) {
			fmt.Println(e.Kind, e.Provider.Type(), e.Version, e.Platform, e.Bytes)
		}})
		must.Do(t, err)
	}
}

// start starts a process that adds to dir, and returns its output when it is ready.
func start(t *testing.T, dir string, seed uint64) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.timeout=60s", "-mirrordir.add="+dir, fmt.Sprint("-mirrordir.addseed=", seed))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	must.Do(t, err)
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
	}
	return cmd, lines
}

// TestProcesses lets eight processes add overlapping sets of packages while this process reads.
func TestProcesses(t *testing.T) {
	t.Parallel()
	_, dir := newMirror(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			cmd, lines := start(t, dir, uint64(i)+100)
			var said []string
			for lines.Scan() {
				said = append(said, lines.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, strings.Join(said[max(0, len(said)-10):], "\n"))
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	polls, documents := 0, 0
	for running := true; running; polls++ {
		select {
		case <-done:
			running = false
		default:
		}
		documents += poll(t, dir)
	}
	t.Logf("%d polls, %d documents read", polls, documents)
	if documents == 0 {
		t.Error("nothing was read")
	}
	finish(t, dir)
}

// poll reads all documents like a client, opens the archives, and returns their number.
func poll(t *testing.T, dir string) (documents int) {
	t.Helper()
	indices, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*", "index.json"))
	for _, path := range indices {
		home := must.Get(filepath.Rel(dir, filepath.Dir(path)))(t)
		home = filepath.ToSlash(home)
		for version := range mirrortest.Parse[index](t, read(t, dir, home+"/index.json")).Versions {
			documents++
			name := home + "/" + version + ".json"
			doc := mirrortest.Parse[document](t, read(t, dir, name))
			if len(doc.Archives) == 0 {
				t.Errorf("%s has no archives", name)
			}
			for platform, a := range doc.Archives {
				f, err := os.Open(follow(t, dir, name, a.URL))
				if err != nil {
					t.Errorf("%s lists %s: %v", name, platform, err)
					continue
				}
				zh, err := checksum.ZH(t.Context(), f)
				f.Close()
				if err != nil || !slices.Contains(a.Hashes, zh.String()) || len(a.Hashes) != 2 {
					t.Errorf("%s states %q for %s, which has %v, %v", name, a.Hashes, platform, zh, err)
				}
			}
		}
	}
	return documents
}

// finish adds all packages, after which Check must report nothing.
func finish(t *testing.T, dir string) {
	t.Helper()
	var all []mirrordir.Want
	for _, p := range fleet.providers {
		for _, v := range fleet.versions {
			all = append(all, mirrordir.Want{Provider: addrs.MustParseProvider(p), Version: addrs.MustParseVersion(v), Platforms: fleet.platforms})
		}
	}
	m := open(t, dir)
	mustAdd(t, m, client(fleetRegistry()), all, mirrordir.AddOptions{})
	wantGood(t, m)
	entries, err := os.ReadDir(filepath.Join(dir, ".tofureg"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		// A killed process leaves its lock file, which is not locked.
		if !strings.HasSuffix(e.Name(), ".lock") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

// TestKill kills processes at random points, and checks that the documents are true and that the
// next Add completes the mirror.
func TestKill(t *testing.T) {
	t.Parallel()
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-mirrordir.seed=%d", seed)
	var mu sync.Mutex
	phases := map[string]int{}
	const together = 3 // kills on one directory
	t.Run("from", func(t *testing.T) {
		for first := 0; first < *kills; first += together {
			t.Run(fmt.Sprint(first), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(seed, uint64(first)))
				_, dir := newMirror(t)
				for i := first; i < min(first+together, *kills); i++ {
					phase := killOnce(t, dir, r, i)
					kind, _, _ := strings.Cut(phase, " ")
					mu.Lock()
					phases[kind]++
					mu.Unlock()
				}
				finish(t, dir)
			})
		}
	})
	t.Logf("phases: %v", phases)
	if *kills >= 25 && len(phases) < 3 {
		t.Errorf("all kills fell into the same few phases: %v", phases)
	}
}

// killOnce kills process i, checks the mirror, and returns the last step of the process.
func killOnce(t *testing.T, dir string, r *rand.Rand, i int) string {
	t.Helper()
	phase, killed := kill(t, dir, r, steps[i%len(steps)], 6)
	for !killed { // the process finished first
		phase, killed = kill(t, dir, r, "", 30)
	}
	t.Logf("kill %d: %s", i, phase)
	poll(t, dir)
	if report := mustCheck(t, open(t, dir), mirrordir.CheckOptions{}); !report.OK() {
		t.Errorf("kill %d, after %q: %v", i, phase, report.Problems)
	}
	return phase
}

// steps are the steps that a process prints, and in which kill kills it.
var steps = []string{"ready", "bytes", "verified", "write", "written"}

// kill starts a process and kills it after some steps of the kind aim, or of any kind if aim is "".
// It returns the last step, or false if the process had finished.
func kill(t *testing.T, dir string, r *rand.Rand, aim string, most int) (phase string, killed bool) {
	t.Helper()
	cmd, lines := start(t, dir, r.Uint64())
	phase = "ready"
	for more := r.IntN(most); more >= 0 && aim != "ready"; {
		if !lines.Scan() || lines.Text() == "PASS" {
			break
		}
		phase = lines.Text()
		if strings.HasPrefix(phase, aim) {
			more--
		}
	}
	time.Sleep(time.Duration(r.IntN(3000)) * time.Microsecond)
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	for lines.Scan() {
		if text := lines.Text(); text != "PASS" && !strings.HasPrefix(text, "---") {
			phase = text // the process finished before its output was read
		}
	}
	return phase, cmd.Wait() != nil
}
