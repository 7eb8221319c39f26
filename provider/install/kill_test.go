package install_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/verify/checksum"
)

var (
	kills    = flag.Int("install.kills", 10, "how many processes TestKill kills")
	killSeed = flag.Uint64("install.seed", 0, "the seed of TestKill; 0: a random one")
)

// phases are the steps that a process reports and that the kills aim at in turn.
var phases = []string{"ready", string(provider.EventBytes), string(provider.EventUnpacking), string(provider.EventVerified), string(provider.EventInstalled)}

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
