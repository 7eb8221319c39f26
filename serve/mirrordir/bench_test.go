package mirrordir_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"github.com/tofureg/tofureg/storage"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

// BenchmarkAdd compares Add with the work that it cannot avoid: receiving the same bytes, hashing
// them, inflating and hashing the content for an h1, and writing them to disk. "ratio" is the
// quotient of the medians. The bytes come over TLS on loopback; "memory" leaves that out.
func BenchmarkAdd(b *testing.B) {
	const parallel = 4
	packages, size := 20, int64(20<<20)
	if testing.Short() {
		packages, size = 4, 1<<20
	}
	reg := regtest.New("registry.example.com")
	var all []mirrordir.Want
	for i := range packages {
		v := fmt.Sprintf("1.%d.0", i)
		rel := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: v, Platforms: names(three[:1]), Size: size})
		rel.Sums() // let the registry hash its archives before
		all = append(all, mirrordir.Want{Provider: alpha, Version: addrs.MustParseVersion(v), Platforms: three[:1]})
	}
	for _, c := range []struct {
		name string
		src  provider.Source
	}{
		{"TLS", overTLS(b, reg)},
		{"memory", client(reg)},
	} {
		src := c.src
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(packages) * size)
			b.ReportAllocs()
			var ratios []float64
			for b.Loop() {
				m, dir := newMirror(b)
				begin := time.Now()
				mustAdd(b, m, src, all, mirrordir.AddOptions{Parallel: parallel})
				took := time.Since(begin)
				b.StopTimer()
				os.RemoveAll(dir)
				ratios = append(ratios, took.Seconds()/unavoidable(b, src, all, parallel).Seconds())
				b.StartTimer()
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
		})
	}
}

// overTLS is a client of the registry that connects to a server on loopback for all hosts.
func overTLS(b *testing.B, reg *regtest.Registry) provider.Source {
	srv := must.Get(reg.ServeTLS())(b)
	b.Cleanup(srv.Close)
	dialer := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: srv.CertPool},
		ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, srv.Addr)
		},
	}
	b.Cleanup(dialer.CloseIdleConnections)
	return &regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: dialer}}}
}

// unavoidable returns the time for the work of Add without a mirror.
func unavoidable(b *testing.B, src provider.Source, all []mirrordir.Want, parallel int) time.Duration {
	dir := b.TempDir()
	defer os.RemoveAll(dir)
	begin := time.Now()
	next := make(chan mirrordir.Want)
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() {
			for w := range next {
				if err := one(b.Context(), src, w, dir); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for _, w := range all {
		next <- w
	}
	close(next)
	wg.Wait()
	return time.Since(begin)
}

func one(ctx context.Context, src provider.Source, w mirrordir.Want, dir string) error {
	pkg, err := src.ProviderPackage(ctx, w.Provider, w.Version, w.Platforms[0])
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, pkg.ArchiveName()))
	if err != nil {
		return err
	}
	defer f.Close()
	got, err := provider.Receive(ctx, src, pkg, f, provider.ReceiveOptions{})
	if err != nil {
		return err
	}
	if _, _, err := checksum.H1Zip(ctx, f, got.Size, checksum.Limits{}); err != nil {
		return err
	}
	return f.Sync()
}

// TestMemory checks that the memory of Add does not depend on the size of a package.
func TestMemory(t *testing.T) {
	small, large := int64(1<<20), int64(96<<20)
	if testing.Short() {
		large = 24 << 20
	}
	a, b := peak(t, small), peak(t, large)
	t.Logf("heap in use: %d KB for %d MB, %d KB for %d MB", a>>10, small>>20, b>>10, large>>20)
	if b > a+8<<20 {
		t.Errorf("the heap grows by %d KB", (b-a)>>10)
	}
}

// peak returns the maximum heap size while a package of this size is added.
func peak(t *testing.T, size int64) int64 {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: names(three[:1]), Size: size}).Sums()
	m, _ := newMirror(t)
	var most, next int64
	src := mirrortest.WatchedSource{Source: client(reg), Read: func(_ context.Context, total int, err error) {
		if int64(total) < next && err == nil {
			return
		}
		next = int64(total) + 1<<20 // once for each megabyte
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		most = max(most, int64(stats.HeapInuse))
	}}
	runtime.GC()
	mustAdd(t, m, src, wants(three[:1], v1), mirrordir.AddOptions{})
	return most
}

// BenchmarkAddManyAgain adds existing packages of a provider with many versions. The time for one
// does not grow with their number.
func BenchmarkAddManyAgain(b *testing.B) {
	for _, n := range []int{100, 400} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			reg, all := manyVersions(n)
			full := another(b, reg, all)
			local, _ := newMirror(b)
			src := client(reg)
			mustAdd(b, local, src, all, mirrordir.AddOptions{})
			measure := func(b *testing.B, s storage.Store) {
				m := &mirrordir.Mirror{Store: s, TempDir: b.TempDir()}
				b.ReportAllocs()
				for b.Loop() {
					if mustAdd(b, m, src, all, mirrordir.AddOptions{}) != 0 {
						b.Fatal("something was fetched")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/version")
			}
			b.Run("directory", func(b *testing.B) { measure(b, local.Store) })
			b.Run("bucket", func(b *testing.B) {
				c := count(full)
				measure(b, c)
				b.ReportMetric(float64(c.opens.Load())/float64(b.N)/float64(3*n), "opened/archive")
			})
		})
	}
}
