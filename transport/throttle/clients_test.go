package throttle_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/throttle"
)

var alpha = addrs.MustParseProvider("registry.example.com/acme/alpha")

// start returns a registry with one provider, whose package has a megabyte.
func start() *regtest.Registry {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux_amd64"}, Size: 1 << 20})
	return reg
}

// Of ten clients that share a transport, only the running requests see that a server is busy.
func TestClientsShareAPause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		shared bool
		want   int // requests for the list of versions while the server is busy
	}{{true, 2}, {false, 10}} {
		synctest.Test(t, func(t *testing.T) {
			reg := start()
			reg.Latency = 100 * time.Millisecond
			reg.AddFault(regtest.Fault{Kind: regtest.Versions, First: test.want, Status: 429, RetryAfter: "20"})
			hc := reg.Client()
			if test.shared {
				hc.Transport = &throttle.Transport{Base: reg, Parallel: 2}
			}
			begin := time.Now()
			var wg sync.WaitGroup
			for range 10 {
				client := &regclient.Client{Transport: &transport.Client{HTTP: hc}}
				wg.Go(func() {
					if _, err := client.ProviderVersions(t.Context(), alpha); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			busy := 0
			for _, q := range reg.Requests() {
				if q.Kind == regtest.Versions && q.Time.Sub(begin) < 20*time.Second {
					busy++
				}
			}
			if total := reg.Count(regtest.Versions); busy != test.want || total != 10+test.want {
				t.Errorf("shared %v: %d of %d requests while the server was busy, want %d", test.shared, busy, total, test.want)
			}
		})
	}
}

// A wait for the limits does not count towards the timeout of the request.
func TestWaitIsNotTimeout(t *testing.T) {
	t.Parallel()
	for name, tr := range map[string]*throttle.Transport{
		"for a slot":   {Parallel: 1},
		"for the rate": {PerSecond: 0.02, Burst: 2},
	} {
		bubble(t, name, func(t *testing.T) {
			reg := start()
			reg.AddFault(regtest.Fault{Kind: regtest.Archive, Rate: 20_000}) // which takes about 50 seconds
			tr.Base = reg
			client := &regclient.Client{Transport: &transport.Client{HTTP: &http.Client{Transport: tr}, Timeout: 5 * time.Second, Retries: -1}}
			pkg := must.Get(client.ProviderPackage(t.Context(), alpha, addrs.MustParseVersion("1.0.0"), addrs.MustParsePlatform("linux_amd64")))(t)
			var wg sync.WaitGroup
			for i := range 3 {
				path := filepath.Join(t.TempDir(), fmt.Sprint(i))
				wg.Go(func() {
					if _, err := provider.Download(t.Context(), client, pkg, path, provider.Options{}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		})
	}
	bubble(t, "the server has its own time", func(t *testing.T) {
		reg := start()
		reg.AddFault(regtest.Fault{Kind: regtest.Versions, Delay: time.Hour})
		client := &regclient.Client{
			Transport: &transport.Client{
				HTTP:    &http.Client{Transport: &throttle.Transport{Base: reg, PerSecond: 0.1, Burst: 1}},
				Timeout: 5 * time.Second,
				Retries: -1,
			},
		}
		begin := time.Now()
		_, err := client.ProviderVersions(t.Context(), alpha)
		if took := time.Since(begin); err == nil || took != 15*time.Second {
			t.Errorf("error after %v: %v; want ten seconds of waiting and five for the server", took, err)
		}
	})
}
