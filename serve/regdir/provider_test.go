package regdir_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

var fileTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func publish(t testing.TB, r *regdir.Registry, rel regdir.Release) []regdir.Published {
	t.Helper()
	return must.Get(r.PublishProvider(t.Context(), rel))(t)
}

func TestPublishProvider(t *testing.T) {
	t.Parallel()
	for name, store := range stores(t) {
		r := newRegistry(store)
		done := publish(t, r, dist(t, "1.0.0", 0, "linux_amd64", "darwin_arm64"))
		if len(done) != 2 || done[0].Platform.String() != "darwin_arm64" || done[0].Size == 0 || done[1].Report.Trust != verify.Signed {
			t.Errorf("%s: PublishProvider() = %+v", name, done)
		}
		if got, want := wantTrue(t, store), "1.0.0 darwin_arm64 linux_amd64"; got != want {
			t.Errorf("%s: the registry has %q, want %q", name, got, want)
		}
		publish(t, r, dist(t, "1.1.0-beta1", 0, "linux_amd64"))
		if got, want := wantTrue(t, store), "1.0.0 darwin_arm64 linux_amd64 1.1.0-beta1 linux_amd64"; got != want {
			t.Errorf("%s: the registry has %q, want %q", name, got, want)
		}
		all := files(t, store)
		for _, want := range []string{
			".well-known/terraform.json", "v1/providers/acme/alpha/versions", "v1/providers/acme/alpha/1.0.0/download/linux/amd64",
			"v1/providers/acme/alpha/1.0.0/download/darwin/arm64", "v1/providers/acme/alpha/1.1.0-beta1/download/linux/amd64",
		} {
			if _, ok := all[want]; !ok {
				t.Errorf("%s: %s is missing", name, want)
			}
		}
		for file := range all {
			for other := range all {
				if strings.HasPrefix(other, file+"/") {
					t.Errorf("%s: %s lies below %s", name, other, file)
				}
			}
		}
	}
}

// TestPublishAgain checks that the same release is published again without a write, and that another one
// is refused with an error that names both.
func TestPublishAgain(t *testing.T) {
	t.Parallel()
	store := &mirrortest.Bucket{Generations: true}
	r := newRegistry(store)
	rel := dist(t, "1.0.0", 0, "linux_amd64")
	publish(t, r, rel)
	before := files(t, store)
	quiet := newRegistry(&watched{Store: store, before: func(op, name string) error {
		if op == "write" || op == "delete" {
			t.Errorf("%s %s", op, name)
		}
		return nil
	}})
	publish(t, quiet, rel)

	other := dist(t, "1.0.0", 1, "linux_amd64")
	_, err := r.PublishProvider(t.Context(), other)
	if !errors.Is(err, regdir.ErrExists) || strings.Count(err.Error(), `"`) != 4 {
		t.Errorf("PublishProvider of other archives: %v, want ErrExists with both digests", err)
	}
	noManifest := rel
	noManifest.Manifest = ""
	if _, err = r.PublishProvider(t.Context(), noManifest); !errors.Is(err, regdir.ErrExists) {
		t.Errorf("PublishProvider with other protocols: %v, want ErrExists", err)
	}
	if got := files(t, store); !maps.Equal(got, before) {
		t.Errorf("the files are %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(before)))
	}
	must.Do(t, r.RemoveProvider(t.Context(), alpha, v1))
	publish(t, r, other)
	wantTrue(t, store)
}

// TestAllowMissing checks that a missing archive is an error, unless it is allowed, and that a later call
// adds it.
func TestAllowMissing(t *testing.T) {
	t.Parallel()
	store := &mirrortest.Bucket{Generations: true}
	r := newRegistry(store)
	rel := dist(t, "1.0.0", 0, "linux_amd64", "windows_amd64")
	archive := filepath.Join(filepath.Dir(rel.Sums), "terraform-provider-alpha_1.0.0_windows_amd64.zip")
	data := must.Get(os.ReadFile(archive))(t)
	must.Do(t, os.Remove(archive))
	if _, err := r.PublishProvider(t.Context(), rel); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Base(archive)) {
		t.Errorf("PublishProvider without an archive: %v, want ErrNotExist with its name", err)
	}
	if all := files(t, store); len(all) > 0 {
		t.Errorf("PublishProvider without an archive has written %d files", len(all))
	}
	rel.AllowMissing = true
	publish(t, r, rel)
	if got := wantTrue(t, store); got != "1.0.0 linux_amd64" {
		t.Errorf("the registry has %q", got)
	}
	must.Do(t, os.WriteFile(archive, data, 0o644))
	publish(t, r, rel)
	if got := wantTrue(t, store); got != "1.0.0 linux_amd64 windows_amd64" {
		t.Errorf("the registry has %q", got)
	}
	must.Do(t, os.RemoveAll(filepath.Dir(archive)))
	if _, err := r.PublishProvider(t.Context(), rel); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("PublishProvider without files: %v", err)
	}
}

// TestRefused checks that nothing is written of a release that is not as it must be.
func TestRefused(t *testing.T) {
	t.Parallel()
	edit := func(name string, change func([]byte) []byte) func(*testing.T, *regdir.Release) {
		return func(t *testing.T, rel *regdir.Release) {
			path := filepath.Join(filepath.Dir(rel.Sums), name)
			must.Do(t, os.WriteFile(path, change(must.Get(os.ReadFile(path))(t)), 0o644))
		}
	}
	const sums = "terraform-provider-alpha_1.0.0_SHA256SUMS"
	other := regtest.NewKey(regtest.KeyOptions{Name: "other"})
	for name, test := range map[string]struct {
		change func(t *testing.T, rel *regdir.Release)
		want   error
		text   string
	}{
		"another archive": {edit("terraform-provider-alpha_1.0.0_linux_amd64.zip", func(b []byte) []byte { b[100] ^= 1; return b }), checksum.ErrMismatch, "linux_amd64.zip"},
		"changed sums":    {edit(sums, func(b []byte) []byte { return append(b, '\n') }), verify.ErrBadSignature, ""},
		"no sums":         {edit(sums, func([]byte) []byte { return nil }), verify.ErrEmpty, ""},
		"sums that are too large": {edit(sums, func([]byte) []byte { return make([]byte, scheme.MaxSums+1) }),
			failure.ErrTooLarge, "more than 1048576 bytes"},
		"a signature that is too large": {edit(sums+".sig", func([]byte) []byte { return make([]byte, scheme.MaxSignature+1) }),
			failure.ErrTooLarge, "more than 65536 bytes"},
		"an armored signature": {edit(sums+".sig", func([]byte) []byte { return []byte("-----BEGIN PGP SIGNATURE-----\n") }), nil, "--armor"},
		"a manifest that is too large": {edit("terraform-registry-manifest.json", func([]byte) []byte { return make([]byte, 64<<10+1) }),
			failure.ErrTooLarge, "terraform-registry-manifest.json"},
		"another key":    {func(_ *testing.T, rel *regdir.Release) { rel.Keys = []verify.Key{other.Public()} }, verify.ErrUnknownKey, ""},
		"no key":         {func(_ *testing.T, rel *regdir.Release) { rel.Keys = nil }, verify.ErrUnsigned, "Release.Keys"},
		"an invalid key": {func(_ *testing.T, rel *regdir.Release) { rel.Keys = []verify.Key{{Armor: "x"}} }, verify.ErrBadKey, ""},
		"one invalid key": {func(_ *testing.T, rel *regdir.Release) {
			rel.Keys = append(slices.Clone(rel.Keys), verify.Key{Armor: "x"})
		}, verify.ErrBadKey, ""},
		"another version":  {func(_ *testing.T, rel *regdir.Release) { rel.Version = v2 }, nil, "another version"},
		"no version":       {func(_ *testing.T, rel *regdir.Release) { rel.Version = addrs.Version{} }, nil, "the version is missing"},
		"another provider": {func(_ *testing.T, rel *regdir.Release) { rel.Provider = addrs.MustParseProvider(host + "/acme/beta") }, nil, "is of another provider"},
		"another host": {func(_ *testing.T, rel *regdir.Release) {
			rel.Provider = addrs.MustParseProvider("other.example.com/acme/alpha")
		}, nil, "another host than the registry, " + host},
		"a built-in one": {func(_ *testing.T, rel *regdir.Release) {
			rel.Provider = addrs.MustParseProvider("terraform.io/builtin/terraform")
		}, nil, "no registry can have"},
		"no provider": {func(_ *testing.T, rel *regdir.Release) { rel.Provider = addrs.Provider{} }, nil, "no registry can have"},
		"no files":    {func(_ *testing.T, rel *regdir.Release) { rel.Sums += "x" }, fs.ErrNotExist, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &mirrortest.Bucket{Generations: true}
			rel := dist(t, "1.0.0", 0, "linux_amd64", "darwin_arm64")
			test.change(t, &rel)
			_, err := newRegistry(store).PublishProvider(t.Context(), rel)
			if _, ok := errors.AsType[*failure.Error](err); !ok || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("PublishProvider: %v, want %v, %q", err, test.want, test.text)
			}
			if all := files(t, store); len(all) > 0 {
				t.Errorf("it has written %q", slices.Sorted(maps.Keys(all)))
			}
		})
	}
}

func TestRemoveProvider(t *testing.T) {
	t.Parallel()
	for name, store := range stores(t) {
		r := newRegistry(store)
		publish(t, r, dist(t, "1.0.0", 0, "linux_amd64", "darwin_arm64"))
		publish(t, r, dist(t, "2.0.0", 0, "linux_amd64"))
		must.Do(t, r.RemoveProvider(t.Context(), alpha, v1))
		if got := wantTrue(t, store); got != "2.0.0 linux_amd64" {
			t.Errorf("%s: after a removal the registry has %q", name, got)
		}
		before := files(t, store)
		must.Do(t, r.RemoveProvider(t.Context(), alpha, v1))
		if !maps.Equal(before, files(t, store)) {
			t.Errorf("%s: the removal of a missing version changes files", name)
		}
		must.Do(t, r.RemoveProvider(t.Context(), alpha, v2))
		swept := must.Get(r.Sweep(t.Context()))(t)
		want := map[string]int{"directory": 0, "bucket": 7}[name] // a removal in a directory deletes at once
		if all := files(t, store); swept.Files != want || (swept.Bytes > 40_000) != (want > 0) || wantTrue(t, store) != "" || strings.Contains(fmt.Sprint(slices.Collect(maps.Keys(all))), ".zip") {
			t.Errorf("%s: Sweep() = %+v, want %d files; after all removals there are %q", name, swept, want, slices.Sorted(maps.Keys(all)))
		}
	}
}
