package provider_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// peak is a Fetcher that measures the heap during the transfer.
type peak struct {
	provider.Fetcher
	most  uint64 // bytes
	reads int
}

func (p *peak) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	body, err := p.Fetcher.Open(ctx, pkg)
	if err != nil {
		return nil, err
	}
	sampled := *body
	sampled.ReadCloser = &sampler{body, p}
	return &sampled, nil
}

type sampler struct {
	io.ReadCloser
	peak *peak
}

func (s *sampler) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if s.peak.reads++; s.peak.reads%64 == 32 {
		s.peak.most = max(s.peak.most, heap())
	}
	return n, err
}

// heap is the memory of all objects in use. What the registry of the test throws away
// while it makes up the archive does not count.
func heap() uint64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// BenchmarkDownload downloads over HTTP into a verified file. The metric peak-MB is the growth of
// the heap, which does not depend on the size of the package. With -short the larger package has
// 100 MB.
func BenchmarkDownload(b *testing.B) {
	large := 1000
	if testing.Short() {
		large = 100
	}
	for _, megabytes := range []int{10, large} {
		b.Run(fmt.Sprintf("%dMB", megabytes), func(b *testing.B) {
			reg := regtest.New("registry.opentofu.org")
			release := reg.AddProvider(regtest.Provider{Address: "acme/demo", Version: "1.2.3", Platforms: []string{"linux_amd64"}, Size: int64(megabytes) * 1e6})
			release.Sums() // hashes all of it, once
			client := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
			pkg, err := client.ProviderPackage(b.Context(), demo, addrs.MustParseVersion("1.2.3"), linux)
			if err != nil {
				b.Fatal(err)
			}
			path := filepath.Join(b.TempDir(), "demo.zip")
			var most uint64
			b.SetBytes(release.Archive("linux_amd64").Size())
			b.ReportAllocs()
			for b.Loop() {
				before, src := heap(), &peak{Fetcher: client}
				if _, err := provider.Download(b.Context(), src, pkg, path, provider.Options{}); err != nil {
					b.Fatal(err)
				}
				most = max(most, src.most-min(src.most, before))
			}
			b.ReportMetric(float64(most)/1e6, "peak-MB")
			os.Remove(path)
		})
	}
}

// TestMemory: a package of 32 times the size takes no more memory.
func TestMemory(t *testing.T) {
	// Not parallel: others would allocate meanwhile.
	rise := func(megabytes int64) uint64 {
		zeros := io.LimitReader(readerFunc(func(p []byte) (int, error) { return len(p), nil }), megabytes<<20)
		src := &peak{Fetcher: &fake{open: func(context.Context, int) (*provider.Body, error) { return body(zeros), nil }}}
		before := heap()
		// The verdict does not matter.
		if _, err := provider.Download(t.Context(), src, packageOf(nil), target(t), accepting(nil)); err == nil {
			t.Error("accepted")
		}
		return src.most - min(src.most, before)
	}
	rise(1) // fills the pool of buffers
	small, large := rise(2), rise(64)
	if large > small+1<<20 {
		t.Errorf("the heap rose by %d bytes for 2 MiB and by %d for 64 MiB", small, large)
	}
}
