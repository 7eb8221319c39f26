package regdir_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/verify/checksum"
)

const (
	listName     = "v1/providers/acme/alpha/versions"
	recordName   = "files/providers/acme/alpha/1.0.0/record.json"
	moduleList   = "v1/modules/acme/network/aws/versions"
	moduleRecord = "files/modules/acme/network/aws/1.0.0/record.json"
)

// TestDamaged damages an object in the store. Errors must name it, and where it is a record, a removal must
// make way for another publication.
func TestDamaged(t *testing.T) {
	t.Parallel()
	rel := dist(t, "1.0.0", 0, "linux_amd64")
	_, loc := source(t, "# one\n")
	replace := func(old, new string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, new, 1) }
	}
	for _, test := range []struct {
		name   string // of the object
		damage func(string) string
	}{
		{listName, func(string) string { return "[]" }},
		{listName, func(string) string { return `{"versions": [{"version": "x"}]}` }},
		{listName, func(string) string { return `{"versions": [{"version": "1.0.0"}, {"version": "1.0"}]}` }},
		{listName, func(string) string { return `{"versions": [null]}` }},
		{listName, func(string) string {
			return `{"versions": [{"version": "1.0.0", "platforms": [{"os": "../x", "arch": "y"}]}]}`
		}},
		{listName, func(string) string { return strings.Repeat(" ", 16<<20+1) }},
		{recordName, func(string) string { return "{" }},
		{recordName, replace("acme/alpha 1.0.0", "acme/alpha 2.0.0")},
		{recordName, replace(`"file": "`, `"file": "../`)},
		{recordName, replace(`"file": "`, `"file": "a/b/`)},
		{recordName, replace(`"layout": 1`, `"layout": 0`)},
		{recordName, replace(`"linux_amd64"`, `""`)},
		{recordName, replace(`"zh:`, `"x1:`)},
		{recordName, replace(`"size": `, `"size": -`)},
		{recordName, func(string) string { return `{"release": "acme/alpha 1.0.0"}` }},
		{recordName, func(string) string {
			return `{"tofureg": {"layout": 1}, "release": "acme/alpha 1.0.0", "keys": [` + strings.TrimSuffix(strings.Repeat("{},", 101), ",") + `]}`
		}},
		{recordName, func(string) string { return strings.Repeat(" ", 4<<20+1) }},
		{moduleList, func(string) string { return `{"modules": {}}` }},
		{moduleList, func(string) string { return `{"modules": [{"versions": [{"version": "..."}]}]}` }},
		{moduleRecord, func(string) string { return "null" }},
		{moduleRecord, replace(`"file": "`, `"file": "../../`)},
		{moduleRecord, replace(`"hashes"`, `"platform": "linux_amd64", "hashes"`)},
		{moduleRecord, replace(`"h1": "`, `"subdir": "../..", "h1": "`)},
		{moduleRecord, replace(`"h1": "h1:`, `"x": "h1:`)},
	} {
		store := &mirrortest.Bucket{Generations: true}
		r := newRegistry(store)
		publish(t, r, rel)
		publishModule(t, r, v1, loc)
		old := files(t, store)[test.name]
		damaged := test.damage(old)
		if damaged == old {
			t.Fatalf("%s is not damaged:\n%s", test.name, old)
		}
		put(t, store, test.name, damaged)
		calls := map[string]error{}
		isModule := strings.Contains(test.name, "modules")
		record := strings.HasSuffix(test.name, "record.json")
		switch {
		case isModule && record:
			calls["ModuleLocation"] = errorOf(r.ModuleLocation(t.Context(), network, v1))
		case isModule:
			calls["ModuleVersions"] = errorOf(r.ModuleVersions(t.Context(), network))
		case record:
			calls["ProviderPackage"] = errorOf(r.ProviderPackage(t.Context(), alpha, v1, addrs.MustParsePlatform("linux_amd64")))
			calls["PublishProvider"] = errorOf(r.PublishProvider(t.Context(), rel))
		default:
			calls["ProviderVersions"] = errorOf(r.ProviderVersions(t.Context(), alpha))
		}
		for call, err := range calls {
			if err == nil || !strings.Contains(err.Error(), test.name) || errors.Is(err, failure.ErrNotFound) || len(err.Error()) > 1000 {
				t.Errorf("%s beside the damaged %.200q: %v, want an error that names %s", call, damaged, err, test.name)
			}
			if len(damaged) > 4<<20 && !errors.Is(err, failure.ErrTooLarge) {
				t.Errorf("%s: %v, want ErrTooLarge", call, err)
			}
		}
		if record {
			must.Do(t, errors.Join(r.RemoveProvider(t.Context(), alpha, v1), r.RemoveModule(t.Context(), network, v1)))
			publish(t, r, rel)
			publishModule(t, r, v1, loc)
			wantTrue(t, store)
			wantModules(t, store)
		}
	}
}

// TestListLimit checks that a list of exactly the limit is read.
func TestListLimit(t *testing.T) {
	t.Parallel()
	store := &mirrortest.Bucket{Generations: true}
	text := `{"versions": [{"version": "1.0.0"}]}`
	put(t, store, listName, text+strings.Repeat(" ", 16<<20-len(text)))
	if versions, err := newRegistry(store).ProviderVersions(t.Context(), alpha); err != nil || len(versions.Versions) != 1 {
		t.Errorf("ProviderVersions of a list of 16 MiB: %v, %v", versions, err)
	}
}

// TestLostFiles checks the errors of files that somebody has removed or cut. Another publication writes nothing; after a
// removal, it restores them.
func TestLostFiles(t *testing.T) {
	t.Parallel()
	for which, store := range stores(t) {
		r := newRegistry(store)
		rel := dist(t, "1.0.0", 0, "linux_amd64")
		publish(t, r, rel)
		for name := range files(t, store) {
			zip, sums := strings.HasSuffix(name, ".zip"), strings.HasSuffix(name, "SHA256SUMS")
			if !zip && !sums {
				continue
			}
			pkg := must.Get(r.ProviderPackage(t.Context(), alpha, v1, addrs.MustParsePlatform("linux_amd64")))(t)
			lost := strings.TrimPrefix(pkg.URL, "https://"+host+"/")
			if zip {
				put(t, store, lost, "cut")
				if _, err := provider.Download(t.Context(), r, pkg, filepath.Join(t.TempDir(), "a.zip"), provider.DownloadOptions{}); !errors.Is(err, checksum.ErrMismatch) {
					t.Errorf("%s: with a cut %s: %v, want ErrMismatch", which, lost, err)
				}
			} else {
				lost = path.Dir(lost) + "/SHA256SUMS"
			}
			must.Do(t, store.Delete(t.Context(), lost))
			err := errorOf(r.Open(t.Context(), pkg))
			if sums {
				err = errorOf(r.Evidence(t.Context(), pkg))
			}
			if !errors.Is(err, provider.ErrNoFile) || !strings.Contains(err.Error(), lost) {
				t.Errorf("%s: without %s: %v, want ErrNoFile", which, lost, err)
			}
			before := files(t, store)
			publish(t, r, rel)
			if !maps.Equal(files(t, store), before) {
				t.Errorf("%s: publishing again has changed the files", which)
			}
			must.Do(t, r.RemoveProvider(t.Context(), alpha, v1))
			publish(t, r, rel)
			wantTrue(t, store)
		}
	}
}

// TestOthers checks that what other programs have written stays.
func TestOthers(t *testing.T) {
	t.Parallel()
	store := &mirrortest.Bucket{Generations: true}
	put(t, store, ".well-known/terraform.json", `{"login.v1": {}, "providers.v1": "/v1/providers/"}`)
	put(t, store, listName, `{"versions": [{"version": "0.9.0", "protocols": ["5.0"], "note": "x"}]}`)
	r := newRegistry(store)
	publish(t, r, dist(t, "1.0.0", 0, "linux_amd64"))
	must.Do(t, r.RemoveProvider(t.Context(), alpha, v1))
	all := files(t, store)
	if !strings.Contains(all[listName], `"note": "x"`) || strings.Contains(all[listName], "1.0.0") || !strings.Contains(all[".well-known/terraform.json"], "login.v1") {
		t.Errorf("the files are %q", all)
	}
}

// TestManifests checks manifests within and beyond the limits.
func TestManifests(t *testing.T) {
	t.Parallel()
	rel := dist(t, "1.0.0", 0, "linux_amd64")
	many := func(n int) string {
		return `{"version": 1, "metadata": {"protocol_versions": [` + strings.TrimSuffix(strings.Repeat(`"6.0",`, n), ",") + `]}}`
	}
	for text, want := range map[string]string{
		many(1): "", many(0): "it states no protocol_versions", `{"version": 2}`: "unsupported version 2",
		`{"version": 1, "metadata": {"protocol_versions": ["six"]}}`: `"six"`, "x": "invalid character",
		many(1) + strings.Repeat(" ", 64<<10-len(many(1))): "", many(1) + strings.Repeat(" ", 64<<10+1-len(many(1))): "too large",
	} {
		rel.Manifest = filepath.Join(t.TempDir(), "manifest.json")
		must.Do(t, os.WriteFile(rel.Manifest, []byte(text), 0o644))
		_, err := newRegistry(&mirrortest.Bucket{Generations: true}).PublishProvider(t.Context(), rel)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "manifest.json")) {
			t.Errorf("PublishProvider with a manifest of %d bytes, %.100s: %v, want %q", len(text), text, err, want)
		}
	}
}

// TestUnknown checks the kinds of errors of what is not published.
func TestUnknown(t *testing.T) {
	t.Parallel()
	r := newRegistry(&mirrortest.Bucket{Generations: true})
	linux := addrs.MustParsePlatform("linux_amd64")
	publish(t, r, dist(t, "1.0.0", 0, "linux_amd64"))
	_, loc := source(t, "# one\n")
	publishModule(t, r, v1, loc)
	elsewhere := addrs.MustParseProvider("other.example.com/acme/alpha")
	for i, test := range []struct{ err, want error }{
		{errorOf(r.ProviderPackage(t.Context(), alpha, v2, linux)), failure.ErrNoVersion},
		{errorOf(r.ProviderPackage(t.Context(), alpha, v1, addrs.MustParsePlatform("linux_arm64"))), provider.ErrNoPlatform},
		{errorOf(r.ProviderVersions(t.Context(), addrs.MustParseProvider(host+"/acme/beta"))), failure.ErrNotFound},
		{errorOf(r.ProviderVersions(t.Context(), elsewhere)), failure.ErrNotFound},
		{errorOf(r.ModuleLocation(t.Context(), network, v2)), failure.ErrNoVersion},
		{errorOf(r.ModuleVersions(t.Context(), vpc)), failure.ErrNotFound},
		{errorOf(r.OpenModule(t.Context(), &module.Location{Module: network, Version: v2, URL: "https://" + host + "/files/modules/acme/network/aws/2.0.0/package.tar.gz"})), failure.ErrNotFound},
	} {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%d: %v, want %v", i, test.err, test.want)
		}
	}
	for _, err := range []error{
		errorOf(r.Open(t.Context(), nil)), errorOf(r.Evidence(t.Context(), nil)), errorOf(r.OpenModule(t.Context(), nil)),
		errorOf(r.OpenModule(t.Context(), &module.Location{Module: network, Version: v1, URL: "https://" + host + "/files/x.gz"})),
		errorOf(r.OpenModule(t.Context(), &module.Location{Module: network, Version: v1, URL: "https://" + host + "/" + moduleRecord})),
		errorOf(r.Open(t.Context(), &provider.Package{Provider: alpha, Version: v1, Platform: linux, URL: "https://" + host + "/" + recordName})),
	} {
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a call with a missing argument: %v", err)
		}
	}
}

// FuzzStore reads and publishes beside any list and record.
func FuzzStore(f *testing.F) {
	rel := dist(f, "1.0.0", 0, "linux_amd64")
	memory := &mirrortest.Bucket{Generations: true}
	publish(f, newRegistry(memory), rel)
	all := files(f, memory)
	f.Add(all[listName], all[recordName])
	f.Add(`{"versions": [{"version": "1.0.0"}]}`, `{"removed": "x", "release": "acme/alpha 1.0.0"}`)
	f.Fuzz(func(t *testing.T, list, record string) {
		store := &mirrortest.Bucket{Generations: true}
		for name, text := range all {
			put(t, store, name, text)
		}
		put(t, store, listName, list)
		put(t, store, recordName, record)
		r := newRegistry(store)
		if pkg, err := r.ProviderPackage(t.Context(), alpha, v1, addrs.MustParsePlatform("linux_amd64")); err == nil {
			if !strings.HasPrefix(pkg.URL, "https://"+host+"/files/providers/acme/alpha/1.0.0/") || strings.Contains(pkg.URL, "..") {
				t.Errorf("the package has the URL %s", pkg.URL)
			}
		}
		if versions, err := r.ProviderVersions(t.Context(), alpha); err == nil {
			_, err := r.PublishProvider(t.Context(), rel)
			now, err2 := r.ProviderVersions(t.Context(), alpha)
			if err2 != nil || err == nil && len(now.Versions) < len(versions.Versions) {
				t.Errorf("publishing makes of %v %v, %v, %v", versions, now, err, err2)
			}
		}
	})
}

// FuzzManifest parses manifests.
func FuzzManifest(f *testing.F) {
	f.Add(`{"version": 1, "metadata": {"protocol_versions": ["6.0"]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if protocols, err := regdir.ParseManifest([]byte(text)); err == nil && len(protocols) == 0 {
			t.Errorf("ParseManifest(%q) = %q", text, protocols)
		}
	})
}
