package storagetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

const (
	host      = "registry.example.com"
	platforms = "darwin_arm64 linux_amd64 windows_amd64"
)

var (
	alpha   = addrs.MustParseProvider(host + "/acme/alpha")
	network = addrs.MustParseModule(host + "/acme/network/aws")
)

// TestPublish publishes in a store as 20 processes at the same time, with package
// [github.com/tofureg/tofureg/serve/regdir]. Readers must see only what is verified, and nothing may be lost.
// open is as for TestMirror.
func TestPublish(ctx context.Context, open func() storage.Store) error {
	temp, err := os.MkdirTemp("", "storagetest-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	key := regtest.NewKey(regtest.KeyOptions{})
	shared, err := release(ctx, filepath.Join(temp, "shared"), key, "9.0.0", strings.Fields(platforms)...)
	if err != nil {
		return err
	}
	registry := func() *regdir.Registry { return &regdir.Registry{Store: open(), Host: svchost.MustParse(host)} }
	var found failures
	var publishers sync.WaitGroup
	for n := range 20 {
		dir, version := filepath.Join(temp, fmt.Sprint(n)), fmt.Sprintf("1.%d.0", n)
		rel := shared
		if n%2 == 0 {
			rel, err = release(ctx, dir, key, version, "linux_amd64")
		} else { // a job that has built one platform
			rel.AllowMissing = true
			rel.Sums, err = part(dir, shared, strings.Fields(platforms)[n%3])
		}
		var loc *module.Location
		if err == nil {
			err = errors.Join(os.Mkdir(filepath.Join(dir, "module"), 0o755), os.WriteFile(filepath.Join(dir, "module", "main.tf"), []byte("# "+version+"\n"), 0o644))
		}
		if err == nil {
			loc, err = module.ParseLocation(filepath.Join(dir, "module"))
		}
		if err != nil {
			publishers.Wait()
			return err
		}
		publishers.Go(func() {
			r := registry()
			if _, err := r.PublishProvider(ctx, rel); err != nil {
				found.addf("PublishProvider(%s): %w", rel.Version, err)
			}
			if _, err := r.PublishModule(ctx, network, addrs.MustParseModuleVersion(version), loc, module.Options{AllowLocal: true}); err != nil {
				found.addf("PublishModule(%s): %w", version, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { publishers.Wait(); close(done) }()
	tick := time.NewTicker(time.Second / 2)
	defer tick.Stop()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		case <-tick.C:
			published(ctx, &found, registry(), temp)
		}
	}
	want := "9.0.0 " + platforms
	for n := 18; n >= 0; n -= 2 {
		want += fmt.Sprintf(" 1.%d.0 linux_amd64", n)
	}
	r := registry()
	if got := published(ctx, &found, r, temp); got != want {
		found.addf("the registry has %q, want %q", got, want)
	}
	versions, err := r.ModuleVersions(ctx, network)
	if err != nil {
		found.addf("ModuleVersions: %w", err)
		return found.err()
	}
	if len(versions.Versions) != 20 {
		found.addf("the registry has %d versions of the module, want 20", len(versions.Versions))
	}
	for _, v := range versions.Versions {
		dir := filepath.Join(temp, "module-"+v.Version.String())
		_, err := module.Download(ctx, r, module.Request{Source: addrs.ModuleSource{Module: network}, Version: v.Version, Dir: dir}, module.Options{})
		text, _ := os.ReadFile(filepath.Join(dir, "main.tf"))
		if want := "# " + v.Version.String() + "\n"; err != nil || string(text) != want {
			found.addf("version %s of the module is %q, %v, want %q", v.Version, text, err, want)
		}
	}
	if err := r.RemoveProvider(ctx, alpha, shared.Version); err != nil {
		found.addf("RemoveProvider: %w", err)
	}
	if got := published(ctx, &found, registry(), temp); got != strings.TrimPrefix(want, "9.0.0 "+platforms+" ") {
		found.addf("after RemoveProvider the registry has %q", got)
	}
	return found.err()
}

// published returns the versions and platforms that are listed. Each must have an archive that the zero policy accepts.
func published(ctx context.Context, found *failures, r *regdir.Registry, temp string) string {
	versions, err := r.ProviderVersions(ctx, alpha)
	if errors.Is(err, failure.ErrNotFound) {
		return ""
	}
	if err != nil {
		found.addf("ProviderVersions: %w", err)
		return ""
	}
	var list []string
	for _, v := range versions.Versions {
		list = append(list, v.Version.String())
		for _, on := range v.Platforms {
			list = append(list, on.String())
			if err := download(ctx, r, v.Version, on, filepath.Join(temp, "x.zip")); err != nil {
				found.addf("%s for %s is listed, but: %w", v.Version, on, err)
			}
		}
	}
	return strings.Join(list, " ")
}

func download(ctx context.Context, src provider.Source, v addrs.Version, on addrs.Platform, path string) error {
	pkg, err := src.ProviderPackage(ctx, alpha, v, on)
	if err == nil {
		_, err = provider.Download(ctx, src, pkg, path, provider.DownloadOptions{})
	}
	return err
}

// client returns a client of a registry that does not repeat requests.
func client(reg *regtest.Registry) *regclient.Client {
	return &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
}

// release writes a release into a new directory, as goreleaser leaves it.
func release(ctx context.Context, dir string, key *regtest.Key, version string, platforms ...string) (regdir.Release, error) {
	reg := regtest.New(host)
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version, Platforms: platforms, Keys: []*regtest.Key{key}})
	src := client(reg)
	rel := regdir.Release{
		Provider: alpha, Version: addrs.MustParseVersion(version), Keys: []verify.Key{key.Public()},
		Sums: filepath.Join(dir, "SHA256SUMS"),
	}
	err := os.Mkdir(dir, 0o755)
	for _, on := range platforms {
		var pkg *provider.Package
		var ev verify.Evidence
		var data []byte
		if err == nil {
			pkg, err = src.ProviderPackage(ctx, rel.Provider, rel.Version, addrs.MustParsePlatform(on))
		}
		if err == nil {
			ev, err = src.Evidence(ctx, pkg)
		}
		if err == nil {
			var body *provider.Body
			if body, err = src.Open(ctx, pkg); err == nil {
				data, err = io.ReadAll(body)
				body.Close()
			}
		}
		if err != nil {
			return rel, err
		}
		for path, data := range map[string][]byte{filepath.Join(dir, pkg.Filename): data, rel.Sums: ev.Sums, rel.Sums + ".sig": ev.Signature} {
			err = errors.Join(err, os.WriteFile(path, data, 0o644))
		}
	}
	return rel, err
}

// part writes a copy of a release with the archive of one platform into a new directory. It returns the path of the sums.
func part(dir string, rel regdir.Release, on string) (string, error) {
	archives, err := filepath.Glob(filepath.Join(filepath.Dir(rel.Sums), "*"+on+".zip"))
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	for _, path := range append(archives, rel.Sums, rel.Sums+".sig") {
		data, failed := os.ReadFile(path)
		err = errors.Join(err, failed, os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o644))
	}
	return filepath.Join(dir, filepath.Base(rel.Sums)), err
}

// TestMirror fills a mirror in a store as several processes at the same time, with package
// [github.com/tofureg/tofureg/serve/mirrordir], then reads, checks and shrinks it.
//
// open returns a store for the same empty place, as in another process. Files are left there. If the store is a
// [storage.Linker], web, if not nil, gets an archive by its URL.
func TestMirror(ctx context.Context, open func() storage.Store, web *http.Client) error {
	temp, err := os.MkdirTemp("", "storagetest-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	const versions = 6
	reg := regtest.New(host)
	var wants []mirrordir.Want
	for n := range versions {
		version := fmt.Sprintf("1.%d.0", n)
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version, Platforms: strings.Fields(platforms)})
		want := mirrordir.Want{Provider: alpha, Version: addrs.MustParseVersion(version)}
		for _, on := range strings.Fields(platforms) {
			want.Platforms = append(want.Platforms, addrs.MustParsePlatform(on))
		}
		wants = append(wants, want)
	}
	var found failures
	var processes sync.WaitGroup
	for n := range versions {
		processes.Go(func() {
			m := &mirrordir.Mirror{Store: open()}
			if _, err := m.Add(ctx, client(reg), []mirrordir.Want{wants[n], wants[(n+1)%versions]}, mirrordir.AddOptions{}); err != nil {
				found.addf("Add(%s): %w", wants[n], err)
			}
		})
	}
	processes.Wait()
	m := &mirrordir.Mirror{Store: open()}
	sound := func(want int) {
		if list, err := m.ProviderVersions(ctx, alpha); err != nil || len(list.Versions) != want {
			found.addf("ProviderVersions = %+v, %w, want %d versions", list, err, want)
		}
		if result, err := m.Check(ctx, mirrordir.CheckOptions{}); err != nil || !result.OK() {
			found.addf("Check = %+v, %w", result, err)
		}
	}
	sound(versions)
	for _, w := range wants {
		for _, on := range w.Platforms {
			if err := download(ctx, m, w.Version, on, filepath.Join(temp, "x.zip")); err != nil {
				found.addf("download of %s: %w", w, err)
			}
		}
	}
	if web != nil {
		if err := byURL(ctx, m, wants[0], web); err != nil {
			found.addf("%w", err)
		}
	}
	if err := m.Remove(ctx, alpha, wants[0].Version); err != nil {
		found.addf("Remove: %w", err)
	}
	sound(versions - 1)
	if swept, err := m.Sweep(ctx); err != nil || swept.Files < 2*len(wants[0].Platforms) {
		found.addf("Sweep = %+v, %w, want at least the archives and records of a version", swept, err)
	}
	sound(versions - 1)
	return found.err()
}

// byURL downloads the archive of a package by its URL, and compares it with the one in the store.
func byURL(ctx context.Context, m *mirrordir.Mirror, w mirrordir.Want, web *http.Client) error {
	pkg, err := m.ProviderPackage(ctx, w.Provider, w.Version, w.Platforms[0])
	if err != nil {
		return err
	}
	link, err := m.ArchiveLink(ctx, pkg)
	if err != nil {
		return fmt.Errorf("ArchiveLink: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return err
	}
	resp, err := web.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := m.Open(ctx, pkg)
	if err != nil {
		return err
	}
	defer body.Close()
	got, err1 := io.ReadAll(resp.Body)
	want, err2 := io.ReadAll(body)
	if err := errors.Join(err1, err2); err != nil || resp.StatusCode != http.StatusOK || string(got) != string(want) {
		return fmt.Errorf("GET of ArchiveLink: %s, %d bytes, %w, want the archive of %d bytes", resp.Status, len(got), err, len(want))
	}
	return nil
}
