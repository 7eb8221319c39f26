// Package storetest tests what the SDK does with a store, in tests of stores.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/mirrortest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
)

const host = "registry.example.com"

var network = addrs.MustParseModule(host + "/acme/network/aws")

// Publish lets 20 processes publish at the same time: versions of their own, platforms of one version that they share,
// and versions of a module. Readers must see only what is verified, and nothing may be lost. The function open returns
// a store for the same place, as another process has it.
func Publish(t *testing.T, open func() storage.Store) {
	t.Helper()
	key := regtest.NewKey(regtest.KeyOptions{})
	three := mirrortest.Names(mirrortest.Three)
	shared := release(t, key, "9.0.0", three...)
	registry := func() *regdir.Registry { return &regdir.Registry{Store: open(), Host: svchost.MustParse(host)} }
	var publishers sync.WaitGroup
	for n := range 20 {
		rel, version := shared, fmt.Sprintf("1.%d.0", n)
		if n%2 == 0 {
			rel = release(t, key, version, "linux_amd64")
		} else { // a job that has built one platform
			rel.Sums, rel.AllowMissing = part(t, shared, three[n%3]), true
		}
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte("# "+version+"\n"), 0o644))
		loc := must.Get(module.ParseLocation(dir))(t)
		publishers.Go(func() {
			r := registry()
			if _, err := r.PublishProvider(t.Context(), rel); err != nil {
				t.Errorf("PublishProvider(%s) = %v", rel.Version, err)
			}
			if _, err := r.PublishModule(t.Context(), network, addrs.MustParseModuleVersion(version), loc, module.Options{AllowLocal: true}); err != nil {
				t.Errorf("PublishModule(%s) = %v", version, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { publishers.Wait(); close(done) }()
	for tick := time.Tick(time.Second / 2); ; {
		select {
		case <-tick:
			published(t, registry())
			continue
		case <-done:
		}
		break
	}
	want := "9.0.0 darwin_arm64 linux_amd64 windows_amd64"
	for n := 18; n >= 0; n -= 2 {
		want += fmt.Sprintf(" 1.%d.0 linux_amd64", n)
	}
	r := registry()
	if got := published(t, r); got != want {
		t.Errorf("the registry has %q, want %q", got, want)
	}
	versions := must.Get(r.ModuleVersions(t.Context(), network))(t)
	if len(versions.List) != 20 {
		t.Errorf("the registry has %d versions of the module, want 20", len(versions.List))
	}
	for _, v := range versions.List {
		report := must.Get(module.Download(t.Context(), r, module.Request{Source: addrs.ModuleSource{Module: network}, Version: v.Version, Dir: filepath.Join(t.TempDir(), "m")}, module.Options{}))(t)
		if text := must.Get(os.ReadFile(filepath.Join(report.Dir, "main.tf")))(t); string(text) != "# "+v.Version.String()+"\n" {
			t.Errorf("version %s of the module is %q", v.Version, text)
		}
	}
	must.Do(t, r.RemoveProvider(t.Context(), mirrortest.Alpha, shared.Version))
	if got := published(t, registry()); got != strings.TrimPrefix(want, "9.0.0 darwin_arm64 linux_amd64 windows_amd64 ") {
		t.Errorf("after RemoveProvider the registry has %q", got)
	}
}

// published returns the versions and platforms that are listed. Each must have an archive that the zero policy accepts.
func published(t *testing.T, r *regdir.Registry) string {
	t.Helper()
	versions, err := r.ProviderVersions(t.Context(), mirrortest.Alpha)
	if errors.Is(err, failure.ErrNotFound) {
		return ""
	}
	if err != nil {
		t.Errorf("ProviderVersions = %v", err)
		return ""
	}
	var list []string
	for _, v := range versions.List {
		list = append(list, v.Version.String())
		for _, on := range v.Platforms {
			list = append(list, on.String())
			if err := download(t.Context(), r, v.Version, on, filepath.Join(t.TempDir(), "x.zip")); err != nil {
				t.Errorf("%s for %s is listed, but: %v", v.Version, on, err)
			}
		}
	}
	return strings.Join(list, " ")
}

func download(ctx context.Context, src provider.Source, v addrs.Version, on addrs.Platform, path string) error {
	pkg, err := src.ProviderPackage(ctx, mirrortest.Alpha, v, on)
	if err == nil {
		_, err = provider.Download(ctx, src, pkg, path, provider.DownloadOptions{})
	}
	return err
}

// release returns a release as goreleaser leaves it.
func release(t *testing.T, key *regtest.Key, version string, platforms ...string) regdir.Release {
	t.Helper()
	dir := t.TempDir()
	reg := regtest.New(host)
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version, Platforms: platforms, Keys: []*regtest.Key{key}})
	client := mirrortest.Client(reg)
	rel := regdir.Release{
		Provider: mirrortest.Alpha, Version: addrs.MustParseVersion(version), Keys: []verify.Key{key.Public()},
		Sums: filepath.Join(dir, "SHA256SUMS"),
	}
	for _, on := range platforms {
		pkg := must.Get(client.ProviderPackage(t.Context(), rel.Provider, rel.Version, addrs.MustParsePlatform(on)))(t)
		body := must.Get(client.Open(t.Context(), pkg))(t)
		data := must.Get(io.ReadAll(body))(t)
		body.Close()
		ev := must.Get(client.Evidence(t.Context(), pkg))(t)
		for path, data := range map[string][]byte{filepath.Join(dir, pkg.Filename): data, rel.Sums: ev.Sums, rel.Sums + ".sig": ev.Signature} {
			must.Do(t, os.WriteFile(path, data, 0o644))
		}
	}
	return rel
}

// part returns the path of the sums in a copy of a release with the archive of one platform.
func part(t *testing.T, rel regdir.Release, on string) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range slices.Concat([]string{rel.Sums, rel.Sums + ".sig"}, must.Get(filepath.Glob(filepath.Join(filepath.Dir(rel.Sums), "*"+on+".zip")))(t)) {
		must.Do(t, os.WriteFile(filepath.Join(dir, filepath.Base(path)), must.Get(os.ReadFile(path))(t), 0o644))
	}
	return filepath.Join(dir, filepath.Base(rel.Sums))
}

// Mirror fills a mirror from several processes at the same time, reads, checks and shrinks it. The client, if not nil,
// must get archives by the URLs of the store.
func Mirror(t *testing.T, open func() storage.Store, client *http.Client) {
	t.Helper()
	const versions = 6
	reg, wants := mirrortest.ManyVersions(versions)
	src := mirrortest.Client(reg)
	var processes sync.WaitGroup
	for n := range versions {
		processes.Go(func() {
			m := &mirrordir.Mirror{Store: open()}
			if _, err := m.Add(t.Context(), src, []mirrordir.Want{wants[n], wants[(n+1)%versions]}, mirrordir.AddOptions{}); err != nil {
				t.Errorf("Add(%s) = %v", wants[n], err)
			}
		})
	}
	processes.Wait()
	m := &mirrordir.Mirror{Store: open()}
	sound := func(want int) {
		t.Helper()
		list, err := m.ProviderVersions(t.Context(), wants[0].Provider)
		if err != nil || len(list.List) != want {
			t.Fatalf("ProviderVersions = %+v, %v, want %d versions", list, err, want)
		}
		if result, err := m.Check(t.Context(), mirrordir.CheckOptions{}); err != nil || !result.OK() {
			t.Errorf("Check = %+v, %v", result, err)
		}
	}
	sound(versions)
	for _, w := range wants {
		for _, on := range w.Platforms {
			if err := download(t.Context(), m, w.Version, on, filepath.Join(t.TempDir(), "x.zip")); err != nil {
				t.Errorf("download of %s: %v", w, err)
			}
		}
	}
	if client != nil {
		byURL(t, m, wants[0], client)
	}
	must.Do(t, m.Remove(t.Context(), wants[0].Provider, wants[0].Version))
	sound(versions - 1)
	if swept, err := m.Sweep(t.Context()); err != nil || swept.Files < 2*len(wants[0].Platforms) {
		t.Errorf("Sweep = %+v, %v, want at least the archives and records of a version", swept, err)
	}
	sound(versions - 1)
}

// byURL downloads the archive of a package by its URL.
func byURL(t *testing.T, m *mirrordir.Mirror, w mirrordir.Want, client *http.Client) {
	t.Helper()
	pkg := must.Get(m.ProviderPackage(t.Context(), w.Provider, w.Version, w.Platforms[0]))(t)
	link := must.Get(m.ArchiveLink(t.Context(), pkg))(t)
	resp := must.Get(client.Get(link))(t)
	defer resp.Body.Close()
	body := must.Get(m.Open(t.Context(), pkg))(t)
	defer body.Close()
	if got, want := must.Get(io.ReadAll(resp.Body))(t), must.Get(io.ReadAll(body))(t); resp.StatusCode != http.StatusOK || string(got) != string(want) {
		t.Errorf("GET of ArchiveLink = %s, %d bytes, want the archive of %d bytes", resp.Status, len(got), len(want))
	}
}
