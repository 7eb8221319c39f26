package provider_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/disktest"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// unpacked creates a package in a filesystem mirror at root and returns its h1.
func unpacked(t *testing.T, root string, platform addrs.Platform, content string) checksum.Hash {
	t.Helper()
	files := fstest.MapFS{"terraform-provider-demo_v1.2.3": {Data: []byte(content)}, "docs/README": {Data: []byte("Read me.\n")}}
	dir := filepath.Join(root, "registry.opentofu.org", "acme", "demo", "1.2.3", platform.String())
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	h1 := must(checksum.H1Dir(t.Context(), files))(t)
	return h1
}

// TestHashesOfDirectory: an unpacked package has only an h1, which only a lock file can confirm.
func TestHashesOfDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	darwin := addrs.MustParsePlatform("darwin_arm64")
	h1 := map[addrs.Platform]checksum.Hash{linux: unpacked(t, root, linux, "linux"), darwin: unpacked(t, root, darwin, "darwin")}
	mirror, err := mirrordir.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		policy verify.Policy
		want   []addrs.Platform
		trust  verify.Trust
		err    error
	}{
		"strict":       {verify.Policy{}, nil, 0, verify.ErrUnchecked},
		"unsigned":     {verify.Policy{AllowUnsigned: true}, nil, 0, verify.ErrUnchecked},
		"unchecked":    {verify.Policy{AllowUnchecked: true}, []addrs.Platform{linux, darwin}, verify.Unchecked, nil},
		"accepted":     {verify.Policy{Accept: []checksum.Hash{h1[linux], h1[darwin]}}, []addrs.Platform{linux, darwin}, verify.Accepted, nil},
		"one accepted": {verify.Policy{Accept: []checksum.Hash{h1[linux]}}, []addrs.Platform{linux}, verify.Accepted, verify.ErrNotAccepted},
		"only a zh":    {verify.Policy{Accept: []checksum.Hash{zh(nil)}}, nil, 0, verify.ErrNotAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := provider.HashOptions{Policy: test.policy, Store: new(memory)}
			got, err := provider.Hashes(t.Context(), mirror, demo, v123, nil, o)
			if !errors.Is(err, test.err) {
				t.Errorf("Hashes returned %v, want %v", err, test.err)
			}
			wantPlatforms(t, got, test.want...)
			for platform, report := range got {
				if report.Trust != test.trust || !slices.Equal(report.Recordable(), []checksum.Hash{h1[platform]}) {
					t.Errorf("%s: %+v, want %s", platform, report, h1[platform])
				}
			}
		})
	}
}

// TestHashesOfBadDirectory: a directory with a link and a missing directory are errors, and do
// not affect the other platforms.
func TestHashesOfBadDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	good := filepath.Join(root, "good")
	if err := os.CopyFS(good, fstest.MapFS{"terraform-provider-demo": {Data: []byte("program")}}); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(root, "linked")
	if err := os.Mkdir(linked, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := disktest.Symlink("/etc/passwd", filepath.Join(linked, "terraform-provider-demo")); err != nil {
		t.Skipf("skipped: symbolic links cannot be made here: %v", err)
	}
	dirs := map[string]string{"linux_amd64": good, "darwin_arm64": linked, "windows_amd64": filepath.Join(root, "gone")}
	src := &lister{Fetcher: serve(nil), find: func(platform addrs.Platform) (*provider.Package, error) {
		return &provider.Package{Provider: demo, Version: v123, Platform: platform, Dir: dirs[platform.String()]}, nil
	}}
	o := provider.HashOptions{Policy: verify.Policy{AllowUnchecked: true}}
	got, err := provider.Hashes(t.Context(), src, demo, v123, platforms("linux_amd64", "darwin_arm64", "windows_amd64"), o)
	wantPlatforms(t, got, linux)
	if !errors.Is(err, checksum.ErrIrregular) || !errors.Is(err, fs.ErrNotExist) || len(joined(t, err)) != 2 {
		t.Errorf("%v, want ErrIrregular and ErrNotExist", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(provider.Event) { t.Error("hashed") }
	src.find = func(platform addrs.Platform) (*provider.Package, error) {
		cancel()
		return &provider.Package{Provider: demo, Version: v123, Platform: platform, Dir: good}, nil
	}
	if _, err := provider.Hashes(ctx, src, demo, v123, platforms("linux_amd64"), o); !errors.Is(err, context.Canceled) {
		t.Errorf("Hashes returned %v, want Canceled", err)
	}
}

// TestHashesOfSources: with several sources, each package comes from the first source that has it,
// with its evidence and archive.
func TestHashesOfSources(t *testing.T) {
	t.Parallel()
	r := demoRelease()
	r.Platforms = []string{"linux_amd64", "linux_arm64"}
	_, some, one := serveDemo(r)
	_, all, two := serveDemo(statingRelease())
	for name, src := range map[string]provider.Source{
		"multi":   &provider.Multi{Sources: []provider.NamedSource{{Name: "one", Source: one}, {Name: "two", Source: two}}},
		"firstof": &provider.FirstOf{Sources: []provider.NamedSource{{Name: "two", Source: two}}},
	} {
		for _, o := range []provider.HashOptions{{}, believing(verify.Policy{})} {
			got, err := provider.Hashes(t.Context(), src, demo, v123, five, o)
			if err != nil {
				t.Errorf("%s: Hashes returned %v, want no error", name, err)
				continue
			}
			wantPlatforms(t, got, five...)
			for platform, report := range got {
				key := all.Key()
				if name == "multi" && platform.OS() == "linux" && !o.Stated {
					key = some.Key() // as the source before has it
				}
				if report.Trust != verify.Signed || report.SignedBy.Fingerprint != key.Fingerprint() || !slices.Contains(report.Recordable(), all.H1(platform.String())) {
					t.Errorf("%s: report of %s is %+v, want it signed by its own key", name, platform, report)
				}
			}
		}
	}
}
