package workdir

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/workdir/internal/must"
	"github.com/tofureg/tofureg/workdir/internal/terraformtest"
)

var runs = flag.Int("workdir.measure", 0, "compare this many runs with those of the clients, and print requests and times")

// TestRequests: a tree of 12 modules and 6 providers takes no more requests than it takes
// the client.
func TestRequests(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		w := newWorld(t)
		var root strings.Builder
		for i := range 12 {
			name := fmt.Sprintf("m%d", i)
			w.registry.AddModule(regtest.Module{Address: "acme/" + name + "/aws", Files: map[string]string{
				"main.tf": fmt.Sprintf("terraform {\n required_providers {\n  p%[1]d = { source = \"%[2]s/acme/p%[1]d\" }\n }\n}", i%6, w.host),
			}})
			fmt.Fprintf(&root, "module %q { source = \"%s/acme/%s/aws\" }\n", name, w.host, name)
		}
		for i := range 6 {
			w.registry.AddProvider(regtest.Provider{Address: fmt.Sprintf("acme/p%d", i), Size: 1 << 20})
		}
		files := map[string]string{"main.tf": root.String()}
		var times [2][]time.Duration
		var requests [2]int
		for range max(1, *runs) {
			for side, run := range []func(*terraformtest.Project){
				func(p *terraformtest.Project) {
					must.Do(t, prepare(t.Context(), w.dir(t, p.Dir, p.Name() == "terraform")))
				},
				func(p *terraformtest.Project) { p.Init(t) },
			} {
				p := terraformtest.New(t, program)
				p.Trust(t, w.server.CertPEM)
				write(t, p.Dir, files)
				before, start := len(w.registry.Requests()), time.Now()
				run(p)
				times[side] = append(times[side], time.Since(start))
				requests[side] = len(w.registry.Requests()) - before
			}
		}
		for side := range times {
			slices.Sort(times[side])
		}
		if *runs > 0 { // with -parallel 1, or the clients disturb each other
			t.Logf("requests: %d, the client %d; median time: %v, the client %v", requests[0], requests[1], times[0][*runs/2], times[1][*runs/2])
		}
		if requests[0] > requests[1] {
			t.Errorf("%d requests, the client needs %d", requests[0], requests[1])
		}
	})
}
