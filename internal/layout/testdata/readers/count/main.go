// Count counts the calls and bytes of any source.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/layout/testdata/readers/internal/sources"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/verify/checksum"
)

type counts struct{ lists, packages, opens, bytes atomic.Int64 }

// counter has Unwrap: it changes nothing.
type counter struct {
	provider.Source
	n *counts
}

func (c counter) Unwrap() provider.Source { return c.Source }

func (c counter) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	c.n.lists.Add(1)
	return c.Source.ProviderVersions(ctx, p)
}

func (c counter) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	c.n.packages.Add(1)
	return c.Source.ProviderPackage(ctx, p, v, on)
}

func (c counter) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	c.n.opens.Add(1)
	body, err := c.Source.Open(ctx, pkg)
	if err != nil {
		return nil, err
	}
	counted := *body // with Size and Resumes
	r := reader{body.ReadCloser, c.n}
	counted.ReadCloser = r
	if s, ok := body.ReadCloser.(io.Seeker); ok { // without it, a server has no ranges
		counted.ReadCloser = seeker{r, s}
	}
	return &counted, nil
}

type (
	reader struct {
		io.ReadCloser
		n *counts
	}
	seeker struct {
		reader
		io.Seeker
	}
)

func (r reader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.n.bytes.Add(int64(n))
	return n, err
}

// catalogue also counts the calls of a server.
type catalogue struct {
	counter
	c provider.Catalogue
}

func (l catalogue) ListedVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	l.n.lists.Add(1)
	return l.c.ListedVersions(ctx, p)
}

func (l catalogue) ListedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	l.n.packages.Add(1)
	return l.c.ListedArchives(ctx, p, v)
}

func main() {
	dir := sources.Must(os.MkdirTemp("", "count"))
	defer os.RemoveAll(dir)
	for _, src := range sources.All(dir, "1.0.0") {
		n := new(counts)
		var counted provider.Source = counter{src, n}
		if c, ok := provider.As[provider.Catalogue](src); ok {
			counted = catalogue{counter{src, n}, c}
		}
		h := &mirrorserve.Handler{Source: counted, Policy: sources.Policy(src)}
		fmt.Printf("%T", src)
		for _, name := range []string{"index.json", "1.0.0.json", "terraform-provider-alpha_1.0.0_linux_amd64.zip"} {
			fmt.Print(" ", sources.Get(h, name))
		}
		fmt.Println("", n.lists.Load(), n.packages.Load(), n.opens.Load(), n.bytes.Load() > 0)
	}
}

// Output:
// *regclient.Client 200 200 200 2 2 1 true
// *mirrordir.Mirror 200 200 200 1 2 1 true
// *mirrorclient.Client 200 200 200 2 13 1 true
// *provider.Multi 200 200 200 2 2 1 true
