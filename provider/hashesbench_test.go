package provider_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/archive/inflate"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// deflated returns an archive whose content of n bytes compresses like a program.
func deflated(b *testing.B, n int) []byte {
	b.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	content := make([]byte, n)
	for i := range content {
		content[i] = byte(rnd.ExpFloat64() * 4)
	}
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	f := must.Get(w.Create("terraform-provider-demo_v1.2.3"))(b)
	must.Get(f.Write(content))(b)
	must.Do(b, w.Close())
	return buf.Bytes()
}

// BenchmarkHashes computes the hashes of an archive of 20 MB with 47 MB of content (2 MB with
// -short). In turn it does only the minimum: SHA-256 of the archive, inflate, SHA-256 of the
// content. "ratio" is the median of the quotients.
func BenchmarkHashes(b *testing.B) {
	size := 47_000_000
	if testing.Short() {
		size /= 10
	}
	content := deflated(b, size)
	src := &lister{Opener: serve(content), find: func(addrs.Platform) (*provider.Package, error) { return packageOf(content), nil }}
	o := provider.HashOptions{Policy: accepting(content).Policy, TempDir: b.TempDir()}
	var ratios []float64
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		must.Get(provider.Hashes(b.Context(), src, demo, v123, []addrs.Platform{linux}, o))(b)
		took := time.Since(start)
		start = time.Now()
		least(b, content)
		ratios = append(ratios, float64(took)/float64(time.Since(start)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
}

func least(b *testing.B, content []byte) {
	b.Helper()
	sha256.Sum256(content)
	r := must.Get(zip.NewReader(bytes.NewReader(content), int64(len(content))))(b)
	r.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser {
		return io.NopCloser(inflate.NewReader(bufio.NewReader(r)))
	})
	buf := make([]byte, 64<<10)
	for _, file := range r.File {
		f := must.Get(file.Open())(b)
		must.Get(io.CopyBuffer(struct{ io.Writer }{sha256.New()}, f, buf))(b)
	}
}

// TestHashesMemory: neither packages of 32 times the size nor more packages than the limiter admits
// take more memory.
func TestHashesMemory(t *testing.T) {
	// Not parallel: others would allocate meanwhile.
	rise := func(megabytes int64, on int) uint64 {
		reg := regtest.New("registry.opentofu.org")
		r := regtest.Provider{Address: "acme/demo", Version: "1.2.3", Size: megabytes << 20}
		systems := systems(on)
		for _, p := range systems {
			r.Platforms = append(r.Platforms, p.String())
		}
		reg.AddProvider(r).Signature()
		client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
		before := heap()
		most := before
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil {
				most = max(most, heap())
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
		got, err := provider.Hashes(t.Context(), client, demo, v123, systems, provider.HashOptions{Limiter: &provider.Limiter{Parallel: 2}})
		stop()
		wg.Wait()
		if err != nil || len(got) != on {
			t.Fatal(got, err)
		}
		return most - before
	}
	rise(1, 2) // fills the pools of buffers
	small := rise(1, 2)
	for _, test := range []struct {
		megabytes int64
		on        int
		most      uint64
	}{
		{32, 2, 2 << 20},
		{1, 24, 6 << 20}, // a quarter of what they hold: the registry, too, works for each of them
	} {
		if large := rise(test.megabytes, test.on); large > small+test.most {
			t.Errorf("the heap rose by %d bytes for 2 packages of 1 MiB, and by %d for %d of %d MiB", small, large, test.on, test.megabytes)
		}
	}
}
