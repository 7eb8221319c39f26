package regdir_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

const host = "registry.example.com"

var (
	alpha   = addrs.MustParseProvider(host + "/acme/alpha")
	network = addrs.MustParseModule(host + "/acme/network/aws")
	v1      = addrs.MustParseVersion("1.0.0")
	v2      = addrs.MustParseVersion("2.0.0")
	key     = regtest.NewKey(regtest.KeyOptions{})
)

func newRegistry(s storage.Store) *regdir.Registry {
	return &regdir.Registry{Store: s, Host: svchost.MustParse(host)}
}

// stores are the stores of most tests.
func stores(t *testing.T) map[string]storage.Store {
	return map[string]storage.Store{"directory": &storage.Dir{Path: t.TempDir()}, "bucket": &mirrortest.Bucket{Generations: true}}
}

// dist returns a release of Alpha as goreleaser leaves it. Another seed gives other archives.
func dist(t testing.TB, version string, seed int, platforms ...string) regdir.Release {
	t.Helper()
	dir := t.TempDir()
	reg := regtest.New(host)
	reg.AddProvider(regtest.Provider{
		Address: "acme/alpha", Version: version, Platforms: platforms, Keys: []*regtest.Key{key}, Size: int64(20_000 + seed),
	})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
	v := addrs.MustParseVersion(version)
	rel := regdir.Release{
		Provider: alpha, Version: v, Keys: []verify.Key{key.Public()},
		Sums:     filepath.Join(dir, "terraform-provider-alpha_"+version+"_SHA256SUMS"),
		Manifest: filepath.Join(dir, "terraform-registry-manifest.json"),
	}
	write(t, rel.Manifest, `{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}`)
	for _, on := range platforms {
		pkg := must.Get(client.ProviderPackage(t.Context(), alpha, v, addrs.MustParsePlatform(on)))(t)
		body := must.Get(client.Open(t.Context(), pkg))(t)
		write(t, filepath.Join(dir, pkg.Filename), string(must.Get(io.ReadAll(body))(t)))
		body.Close()
		ev := must.Get(client.Evidence(t.Context(), pkg))(t)
		write(t, rel.Sums, string(ev.Sums))
		write(t, rel.Sums+".sig", string(ev.Signature))
	}
	return rel
}

func write(t testing.TB, path, content string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(content), 0o644))
}

// files returns the content of all files in a store.
func files(t testing.TB, s storage.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	var walk func(dir string)
	walk = func(dir string) {
		for _, e := range must.Get(s.List(t.Context(), dir))(t) {
			if name := path.Join(dir, e.Name); e.IsDir {
				walk(name)
			} else if f, err := s.Open(t.Context(), name); err == nil {
				all[name] = string(must.Get(io.ReadAll(f))(t))
				f.Close()
			} else if !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	walk(".")
	return all
}

func put(t testing.TB, s storage.Store, name, content string) {
	t.Helper()
	info, err := s.Stat(t.Context(), name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	must.Do(t, s.Write(t.Context(), name, section(content), info.Revision))
}

func section(text string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))
}

// static serves the files of a store as a plain web server or an object store does.
func static(s storage.Store) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := s.Open(r.Context(), strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer f.Close()
		data, err := io.ReadAll(f)
		if err != nil {
			panic(err)
		}
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/octet-stream")
		}
		if strings.HasSuffix(r.URL.Path, ".json") {
			w.Header().Set("Content-Type", "application/json")
		}
		w.Header().Set("Etag", fmt.Sprintf("%q", f.Revision))
		http.ServeContent(w, r, "", fileTime, bytes.NewReader(data))
	})
}

// withRules does what the rules for nginx in the documentation do.
func withRules(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/v1/") {
			w.Header().Set("Content-Type", "application/json")
		}
		middle, ok := strings.CutSuffix(r.URL.Path, "/download")
		if _, of, isModule := strings.Cut(middle, "/v1/modules/"); ok && isModule {
			w.Header().Set("X-Terraform-Get", "../../../../../../files/modules/"+of+"/package.tar.gz")
		}
		next.ServeHTTP(w, r)
	})
}

// client returns a client of what a handler serves.
func client(h http.Handler) *regclient.Client {
	return &regclient.Client{Transport: &transport.Settings{Retries: -1, HTTP: &http.Client{Transport: handled{h}}}}
}

// wantTrue checks all that a static registry says: each listed version has documents, and each archive is
// the one that its signed SHA256SUMS lists. It returns the listed versions with their platforms.
func wantTrue(t testing.TB, s storage.Store) string {
	t.Helper()
	said := check(t, s)
	if said[0] != said[1] {
		t.Errorf("the static registry lists %q, the source %q", said[0], said[1])
	}
	return said[0]
}

// check is wantTrue for a registry that is changed meanwhile. It returns the lists of both sources.
func check(t testing.TB, s storage.Store) (said []string) {
	t.Helper()
	for _, src := range []provider.Source{client(static(s)), newRegistry(s)} {
		versions, err := src.ProviderVersions(t.Context(), alpha)
		if _, missing := s.Stat(t.Context(), ".well-known/terraform.json"); errors.Is(err, failure.ErrNotFound) || missing != nil {
			versions, err = &provider.Versions{}, nil
		}
		must.Do(t, err)
		var list []string
		for _, rel := range slices.Backward(versions.Versions) {
			list = append(list, rel.Version.String())
			for _, on := range rel.Platforms {
				list = append(list, on.String())
				wantArchive(t, src, rel.Version, on)
			}
		}
		said = append(said, strings.Join(list, " "))
	}
	return said
}

func wantArchive(t testing.TB, src provider.Source, v addrs.Version, on addrs.Platform) {
	t.Helper()
	ctx, fail := context.WithCancel(t.Context())
	defer fail()
	pkg, err := src.ProviderPackage(ctx, alpha, v, on)
	if err != nil {
		t.Errorf("ProviderPackage(%s, %s): %v", v, on, err)
		return
	}
	target := filepath.Join(t.TempDir(), "archive.zip")
	if _, err := provider.Download(ctx, src, pkg, target, provider.DownloadOptions{}); err != nil {
		t.Errorf("Download(%s, %s): %v", v, on, err)
	}
}
