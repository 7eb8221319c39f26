// Metrics wraps a source and counts its calls, errors, bytes and time.
package main

import (
	"context"
	"expvar"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

type counted struct {
	src provider.Source
	m   *expvar.Map
}

func (c counted) Unwrap() provider.Source { return c.src }

func (c counted) done(name string, began time.Time, err *error) {
	c.m.Add(name+"_calls", 1)
	c.m.AddFloat(name+"_seconds", time.Since(began).Seconds())
	if *err != nil {
		c.m.Add(name+"_errors", 1)
	}
}

func (c counted) ProviderVersions(ctx context.Context, p addrs.Provider) (_ *provider.Versions, err error) {
	defer c.done("versions", time.Now(), &err)
	return c.src.ProviderVersions(ctx, p)
}

func (c counted) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (_ *provider.Package, err error) {
	defer c.done("package", time.Now(), &err)
	return c.src.ProviderPackage(ctx, p, v, on)
}

func (c counted) Evidence(ctx context.Context, pkg *provider.Package) (_ verify.Evidence, err error) {
	defer c.done("evidence", time.Now(), &err)
	return c.src.Evidence(ctx, pkg)
}

func (c counted) Open(ctx context.Context, pkg *provider.Package) (body *provider.Body, err error) {
	defer c.done("open", time.Now(), &err)
	if body, err = c.src.Open(ctx, pkg); err == nil {
		c.m.Add("bytes", body.Size) // declared; the body stays an io.Seeker
	}
	return body, err
}

func main() {
	ctx := context.Background()
	reg := regtest.New("registry.opentofu.org")
	alpha := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Size: 1 << 20})
	src := counted{&regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}, expvar.NewMap("source")}
	dir, err := os.MkdirTemp("", "metrics")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	pkg, err := provider.Find(ctx, src, addrs.MustParseProvider("acme/alpha"), addrs.ProviderConstraint{}, provider.Need{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = provider.Download(ctx, src, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.DownloadOptions{})
	for _, name := range []string{"versions", "package", "evidence", "open"} {
		fmt.Println(name, src.m.Get(name+"_calls"), src.m.Get(name+"_errors"), src.m.Get(name+"_seconds") != nil)
	}
	fmt.Println(src.m.Get("bytes").String() == fmt.Sprint(alpha.Archive(pkg.Platform.String()).Size()), err)
}

// Output:
// versions 1 <nil> true
// package 1 <nil> true
// evidence 1 <nil> true
// open 1 <nil> true
// true <nil>
