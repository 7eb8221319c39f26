package hostile_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/regclient/regtest"
)

var soak = flag.Int("hostile.soak", 200, "how many downloads TestSoak makes")

// mixed returns the faults of all tests in a fixed order.
func mixed() []regtest.Fault {
	var list []regtest.Fault
	for _, faults := range []map[string]regtest.Fault{transient, permanent, stuck} {
		for _, name := range slices.Sorted(maps.Keys(faults)) {
			list = append(list, faults[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(troubles)) {
		list = append(list, troubles[name].faults...)
	}
	for _, name := range slices.Sorted(maps.Keys(redirects)) {
		list = append(list, redirects[name].fault)
	}
	for _, name := range slices.Sorted(maps.Keys(malformed)) {
		list = append(list, regtest.Fault{Raw: []byte(malformed[name])})
	}
	list = append(list, regtest.Fault{PadTo: 17 << 20, Gzip: true})
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// TestSoak makes many downloads while a tenth of the requests fails. Each result is right or a
// typed error. No file and no goroutine is left. Only of more than 100 files some may be left when a context
// ends, see TestEnds.
func TestSoak(t *testing.T) {
	t.Parallel()
	const (
		size   = 20_000
		rounds = 20 // of clients with nothing in memory
	)
	perRound := (*soak + rounds - 1) / rounds
	faults := mixed()
	arrived, failed, requests := 0, 0, 0
	met := map[int]bool{} // by places in faults
	for round := range rounds {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := newWorldOf(t, size)
			for i := range perRound { // of which a third comes about, for want of requests
				f := faults[(round*perRound+i)%len(faults)]
				f.Skip, f.Every, f.First = 10*i+9, 0, 1
				w.reg.AddFault(f)
			}
			var wg sync.WaitGroup
			var mu sync.Mutex
			slots := make(chan struct{}, 8)
			for i := range perRound {
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					d := downloads[i%len(downloads)]
					place := filepath.Join(dir, fmt.Sprint(i))
					if err := os.Mkdir(place, 0o777); err != nil {
						t.Error(err)
						return
					}
					right, err := d.run(t.Context(), w, place)
					left, readErr := os.ReadDir(place)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case readErr != nil:
						t.Error(readErr)
					case err == nil:
						if arrived++; !right || len(left) != 1 {
							t.Errorf("%s: right: %v, files: %v", d.name, right, left)
						}
					default:
						failed++
						if typed(t, err); len(left) != 0 {
							t.Errorf("%s: %v are left over after %v", d.name, left, err)
						}
					}
				})
			}
			wg.Wait()
			requests += w.reg.Count(0)
			for i := range min(w.reg.Count(0)/10, perRound) {
				met[(round*perRound+i)%len(faults)] = true
			}
			if names := slices.Collect(func(yield func(string) bool) {
				entries, _ := os.ReadDir(dir)
				for _, e := range entries {
					if !e.IsDir() && !yield(e.Name()) {
						return
					}
				}
			}); len(names) != 0 {
				t.Errorf("left over: %v", names)
			}
		})
	}
	t.Logf("%d downloads arrived, %d failed; %d of %d kinds of faults in %d requests", arrived, failed, len(met), len(faults), requests)
	if arrived < failed || failed == 0 || *soak >= 200 && len(met) < len(faults)/4 || *soak >= 10_000 && len(met) < len(faults) {
		t.Error("that is not what one fault in ten requests makes of them")
	}
}
