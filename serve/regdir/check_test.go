package regdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/verify"
)

// TestCheck: what breaks a client of the files is found, and a registry as it was published has no problem.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, store := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegistry(store)
			must.Get(r.PublishProvider(t.Context(), dist(t, "1.0.0", 1, "linux_amd64", "darwin_arm64")))(t)
			source := t.TempDir()
			write(t, filepath.Join(source, "main.tf"), "# module\n")
			must.Get(r.PublishModule(t.Context(), network, v2, must.Get(module.ParseLocation(source))(t), module.Options{AllowLocal: true}))(t)
			check := func(archives bool) string {
				t.Helper()
				result := must.Get(r.Check(t.Context(), regdir.CheckOptions{Archives: archives}))(t)
				if result.OK() != (len(result.Problems) == 0) || result.OK() && result.Versions != 2 {
					t.Errorf("Check: %+v, want two versions, or problems", result)
				}
				var all []string
				for _, p := range result.Problems {
					all = append(all, p.Subject+": "+p.Detail)
				}
				return strings.Join(all, "\n")
			}
			for _, archives := range []bool{false, true} {
				if got := check(archives); got != "" {
					t.Errorf("Check with archives %t of what was published: %s", archives, got)
				}
			}
			before := files(t, store)
			for file, old := range before {
				var damage []string
				onlyArchives := ""
				switch base := filepath.Base(file); {
				case file == ".well-known/terraform.json", base == "name.json", strings.HasPrefix(base, "."), strings.Contains(base, ".lock"):
					continue // no document of a version
				case base == "versions":
					put(t, store, file, "x")
					if got := check(false); got == "" {
						t.Errorf("Check with a damaged %s has found nothing", file)
					}
					put(t, store, file, old)
					continue
				case strings.HasSuffix(base, ".zip"), strings.Contains(base, ".tar.gz"):
					damage, onlyArchives = []string{old + "x"}, strings.Repeat("x", len(old))
				default:
					damage = []string{strings.Repeat("x", len(old)), "{}"}
				}
				for _, content := range damage {
					put(t, store, file, content)
					if got := check(false); got == "" {
						t.Errorf("Check with %.20q in %s has found nothing", content, file)
					}
				}
				if onlyArchives != "" {
					put(t, store, file, onlyArchives)
					if got := check(false); got != "" {
						t.Errorf("Check of sizes only, with another archive %s: %s", file, got)
					}
					if got := check(true); got == "" {
						t.Errorf("Check with archives, with another archive %s, has found nothing", file)
					}
				}
				must.Do(t, store.Delete(t.Context(), file))
				if got := check(false); got == "" {
					t.Errorf("Check without %s has found nothing", file)
				}
				put(t, store, file, old)
			}
			if got := check(true); got != "" {
				t.Errorf("Check of what was restored: %s", got)
			}
		})
	}
}

// TestReleases: a directory of goreleaser becomes releases, each with what is missing, and only these are published.
func TestReleases(t *testing.T) {
	t.Parallel()
	r := newRegistry(stores(t)["bucket"])
	dir := t.TempDir()
	for _, version := range []string{"1.0.0", "2.0.0"} {
		rel := dist(t, version, 1, "linux_amd64", "darwin_arm64")
		for _, e := range must.Get(os.ReadDir(filepath.Dir(rel.Sums)))(t) {
			must.Do(t, os.Rename(filepath.Join(filepath.Dir(rel.Sums), e.Name()), filepath.Join(dir, e.Name())))
		}
	}
	write(t, filepath.Join(dir, "terraform-provider-alpha_1.0.0_manifest.json"), `{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}`)
	write(t, filepath.Join(dir, "artifacts.json"), "[]")
	must.Do(t, os.Remove(filepath.Join(dir, "terraform-provider-alpha_2.0.0_darwin_arm64.zip")))
	must.Do(t, os.Remove(filepath.Join(dir, "terraform-provider-alpha_2.0.0_SHA256SUMS.sig")))

	found := must.Get(r.Releases(t.Context(), dir, "acme"))(t)
	if len(found) != 2 || found[0].Provider != alpha || found[0].Version != v1 || len(found[0].Missing) > 0 || found[0].Manifest == "" {
		t.Fatalf("Releases: %+v, want two of %s, the first whole", found, alpha)
	}
	if want := []string{"terraform-provider-alpha_2.0.0_SHA256SUMS.sig", "terraform-provider-alpha_2.0.0_darwin_arm64.zip"}; !slices.Equal(found[1].Missing, want) {
		t.Errorf("Releases: %s lacks %q, want %q", found[1].Version, found[1].Missing, want)
	}
	found[0].Keys = []verify.Key{key.Public()}
	if published := must.Get(r.PublishProvider(t.Context(), found[0].Release))(t); len(published) != 2 {
		t.Errorf("PublishProvider of what Releases found: %+v, want two platforms", published)
	}

	for name, text := range map[string]string{
		"terraform-provider-alpha_SHA256SUMS":          "has no version",
		"terraform-provider-alpha_x_SHA256SUMS":        "x",
		"terraform-provider-Bad.Name_1.0.0_SHA256SUMS": "Bad.Name",
		"terraform-provider-beta_1.0.0_SHA256SUMS":     "line 1",
	} {
		other := t.TempDir()
		write(t, filepath.Join(other, name), "nonsense\n")
		if _, err := r.Releases(t.Context(), other, "acme"); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("Releases with %s: %v, want an error with %q", name, err, text)
		}
	}
	if _, err := r.Releases(t.Context(), filepath.Join(dir, "missing"), "acme"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Releases of a missing directory: %v, want %v", err, os.ErrNotExist)
	}
}

// TestReleasesHostile: pipes, directories and links out of the directory are no files of a release, and nothing waits for them.
func TestReleasesHostile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: windows has no pipes with names")
	}
	r := newRegistry(stores(t)["bucket"])
	rel := dist(t, "1.0.0", 1, "linux_amd64", "darwin_arm64", "windows_amd64")
	dir := filepath.Dir(rel.Sums)
	name := func(on string) string { return filepath.Join(dir, "terraform-provider-alpha_1.0.0_"+on) }
	outside := filepath.Join(t.TempDir(), "archive.zip")
	must.Do(t, os.Rename(name("linux_amd64.zip"), outside))
	must.Do(t, os.Symlink(outside, name("linux_amd64.zip")))
	must.Do(t, os.Remove(name("darwin_arm64.zip")))
	must.Do(t, disktest.Mkfifo(name("darwin_arm64.zip")))
	must.Do(t, os.Remove(name("windows_amd64.zip")))
	must.Do(t, os.Mkdir(name("windows_amd64.zip"), 0o700))
	found := must.Get(r.Releases(t.Context(), dir, "acme"))(t)
	if len(found) != 1 || len(found[0].Missing) != 3 {
		t.Fatalf("Releases: %+v, want a release without its three archives", found)
	}
	found[0].Keys, found[0].AllowMissing = rel.Keys, true
	if published, err := r.PublishProvider(t.Context(), found[0].Release); err == nil {
		t.Errorf("PublishProvider of links, pipes and directories: %+v", published)
	}
	must.Do(t, os.Remove(rel.Sums))
	must.Do(t, disktest.Mkfifo(rel.Sums))
	if found, err := r.Releases(t.Context(), dir, "acme"); err == nil {
		t.Errorf("Releases with a pipe as SHA256SUMS: %+v", found)
	}
}
