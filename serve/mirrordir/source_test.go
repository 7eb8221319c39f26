package mirrordir_test

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
)

// TestNames checks which packages are found in directories made by people and by the CLI.
func TestNames(t *testing.T) {
	t.Parallel()
	tests := casetest.Read[struct {
		Name     string
		Files    []string
		Versions string
		Dir      bool
		Warning  string
	}](t, "names.txt")
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && strings.Contains(test.Files[0], ":") {
				return // Windows does not support colons in file names
			}
			m, dir := newMirror(t)
			for _, f := range test.Files {
				write(t, dir, f, "x")
			}
			versions := must.Get(m.ProviderVersions(t.Context(), alpha))(t)
			var got []string
			for _, r := range versions.Versions {
				got = append(got, r.Version.String())
				if diff := cmp.Diff([]string{"linux_amd64"}, names(r.Platforms)); diff != "" {
					t.Errorf("platforms of %s: %s", r.Version, diff)
				}
				pkg := must.Get(m.ProviderPackage(t.Context(), alpha, r.Version, linux))(t)
				_, err := m.Open(t.Context(), pkg)
				switch {
				case (pkg.Dir == "") == (pkg.URL == ""):
					t.Errorf("both or none: URL %q, Dir %q", pkg.URL, pkg.Dir)
				case pkg.Dir == "" && err != nil, pkg.Dir != "" && !errors.Is(err, provider.ErrUnpacked):
					t.Errorf("Open: %v, with Dir %q", err, pkg.Dir)
				}
				if r.Version == v1 && (pkg.Dir != "") != test.Dir {
					t.Errorf("Dir is %q", pkg.Dir)
				}
			}
			if strings.Join(got, " ") != test.Versions {
				t.Errorf("versions %q, want %q", got, test.Versions)
			}
			if warnings := strings.Join(versions.Warnings, "\n"); !strings.Contains(warnings, test.Warning) || test.Warning == "" && warnings != "" {
				t.Errorf("warnings %q, want one with %q", warnings, test.Warning)
			}
		})
	}
}

func TestNothingThere(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(t)
	write(t, dir, home+"/terraform-provider-alpha_1.0.0_linux_amd64.zip", "x")

	_, otherProvider := m.ProviderVersions(t.Context(), addrs.MustParseProvider("registry.example.com/acme/beta"))
	_, noProvider := m.ProviderVersions(t.Context(), addrs.Provider{})
	_, otherVersion := m.ProviderPackage(t.Context(), alpha, v2, linux)
	_, otherPlatform := m.ProviderPackage(t.Context(), alpha, v1, darwin)
	_, believed := m.Open(t.Context(), &provider.Package{Provider: alpha, Version: v2, Platform: linux, URL: "file:///etc/passwd"})
	for what, test := range map[string]struct{ err, want error }{
		"another provider":     {otherProvider, failure.ErrNotFound},
		"another version":      {otherVersion, failure.ErrNoVersion},
		"another platform":     {otherPlatform, provider.ErrNoPlatform},
		"the URL of a package": {believed, failure.ErrNotFound},
	} {
		if _, ok := errors.AsType[*failure.Error](test.err); !ok || !errors.Is(test.err, test.want) {
			t.Errorf("%s: %T %v, want a *failure.Error with %v", what, test.err, test.err, test.want)
		}
	}
	if un, ok := errors.AsType[*provider.UnavailableError](otherPlatform); !ok || len(un.Platforms) != 1 {
		t.Errorf("another platform: %v, want an *UnavailableError with one platform", otherPlatform)
	}
	if noProvider == nil {
		t.Error("no provider: no error")
	}

	if _, err := mirrordir.Open(""); err == nil {
		t.Error("Open of no directory succeeded, which would be the working directory")
	}
	if _, err := mirrordir.Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if _, err := mirrordir.Open(filepath.Join(dir, filepath.FromSlash(home), "terraform-provider-alpha_1.0.0_linux_amd64.zip")); err == nil {
		t.Error("a file: no error")
	}
	remove(t, dir, ".")
	if _, err := m.ProviderVersions(t.Context(), alpha); err == nil || errors.Is(err, failure.ErrNotFound) {
		t.Errorf("the directory is gone: %v, want an error that no other source makes up for", err)
	}
}

// TestSymlinks checks links: the top and unpacked packages may link anywhere, archives to files of
// the mirror, and other directories may not be links.
func TestSymlinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // links need a privilege on Windows
	}
	elsewhere := t.TempDir()
	write(t, elsewhere, "a.zip", "x")
	write(t, elsewhere, "tree/x", "x")
	write(t, elsewhere, "home/terraform-provider-alpha_1.0.0_linux_amd64.zip", "x")
	link := func(dir, name, to string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.Symlink(filepath.Join(elsewhere, to), path))
	}
	tests := map[string]struct {
		name, to string
		found    bool
	}{
		"archive":          {home + "/terraform-provider-alpha_1.0.0_linux_amd64.zip", "a.zip", false},
		"unpacked package": {home + "/1.0.0/linux_amd64", "tree", true},
		"version":          {home + "/1.0.0", ".", false},
		"type":             {home, "home", false},
		"dangling":         {home + "/terraform-provider-alpha_1.0.0_linux_amd64.zip", "none", false},
	}
	for name, test := range tests {
		m, dir := newMirror(t)
		link(dir, test.name, test.to)
		_, err := m.ProviderPackage(t.Context(), alpha, v1, linux)
		if found := err == nil; found != test.found || err != nil && !errors.Is(err, failure.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, dir := newMirror(t)
	write(t, dir, "shared/a.zip", "x")
	must.Do(t, os.MkdirAll(filepath.Join(dir, home), 0o755))
	must.Do(t, os.Symlink("../../../shared/a.zip", filepath.Join(dir, home, "terraform-provider-alpha_1.0.0_linux_amd64.zip")))
	if _, err := m.ProviderPackage(t.Context(), alpha, v1, linux); err != nil {
		t.Errorf("an archive that is a link within the mirror: %v", err)
	}
	link(elsewhere, "top", ".")
	write(t, elsewhere, home+"/terraform-provider-alpha_1.0.0_linux_amd64.zip", "x")
	if _, err := open(t, filepath.Join(elsewhere, "top")).ProviderPackage(t.Context(), alpha, v1, linux); err != nil {
		t.Errorf("top: %v", err)
	}
}

// TestPackage checks that the mirror knows all that the registry knows of a package.
func TestPackage(t *testing.T) {
	t.Parallel()
	m, dir, reg, client := filled(t)
	pkg := must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	original := must.Get(client.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	if diff := cmp.Diff([]any{original.Filename, original.SHA256.String(), original.Protocols, original.Keys},
		[]any{pkg.Filename, pkg.SHA256.String(), pkg.Protocols, pkg.Keys}); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Join(dir, archive(v1, linux))); err != nil || info.Size() != pkg.Size {
		t.Errorf("size %d of %v, %v", pkg.Size, info, err)
	}
	for _, platform := range three {
		if hashes := pkg.Hashes[platform]; len(hashes) != 2 || hashes[0].Scheme() != "h1" || hashes[1].Scheme() != "zh" {
			t.Errorf("hashes for %s: %v", platform, hashes)
		}
	}
	u, err := url.Parse(pkg.URL)
	if err != nil || u.Scheme != "file" || runtime.GOOS != "windows" && u.Path != filepath.Join(dir, archive(v1, linux)) {
		t.Errorf("URL %q", pkg.URL)
	}
	// The zero policy requires a signature.
	reg.Reset()
	to := filepath.Join(t.TempDir(), pkg.ArchiveName())
	report := must.Get(provider.Download(t.Context(), m, pkg, to, provider.DownloadOptions{}))(t)
	if report.Trust != verify.Signed || reg.Count(0) != 0 {
		t.Errorf("trust %v, %d requests", report.Trust, reg.Count(0))
	}
	// The record is used without the document, and overrides it.
	document := home + "/1.0.0.json"
	for _, text := range []string{"{}", `{"archives":{"linux_amd64":{"url":"` + pkg.ArchiveName() + `","hashes":["h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]}}}`} {
		write(t, dir, document, text)
		again, err := m.ProviderPackage(t.Context(), alpha, v1, linux)
		if err != nil || !slices.Equal(again.Hashes[linux], pkg.Hashes[linux]) {
			t.Errorf("beside %s: %v, %v", text, again, err)
		}
	}
}

// TestDamaged checks that damage is an error of its own kind, and that no policy accepts it.
func TestDamaged(t *testing.T) {
	t.Parallel()
	cut := func(text string) string { return text[:len(text)-1] }
	flip := func(text string) string { return text[:40] + string(text[40]^1) + text[41:] }
	tests := map[string]struct {
		name   string
		damage func(string) string
		want   string
	}{
		"cut archive":          {archive(v1, linux), cut, "bytes, "},
		"longer archive":       {archive(v1, linux), func(s string) string { return s + "x" }, "bytes, "},
		"altered archive":      {archive(v1, linux), flip, "does not match"},
		"cut record":           {recordOf(v1, linux), cut, "damaged document"},
		"null record":          {recordOf(v1, linux), func(string) string { return "null" }, "not a JSON object"},
		"negative size":        {recordOf(v1, linux), func(string) string { return `{"size":-1}` }, "negative"},
		"bad hash in record":   {recordOf(v1, linux), func(string) string { return `{"hashes":["zh:1"]}` }, "want 64 hex digits"},
		"cut document":         {home + "/1.0.0.json", cut, "damaged document"},
		"array":                {home + "/1.0.0.json", func(string) string { return "[]" }, "not a JSON object"},
		"archives is an array": {home + "/1.0.0.json", func(string) string { return `{"archives":[]}` }, "cannot unmarshal array"},
		"entry is a string":    {home + "/1.0.0.json", func(string) string { return `{"archives":{"linux_amd64":"x"}}` }, "cannot unmarshal string"},
		"invalid hash":         {home + "/1.0.0.json", func(string) string { return `{"archives":{"linux_amd64":{"hashes":["x"]}}}` }, "scheme:value"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, dir, _, _ := filled(t)
			write(t, dir, test.name, test.damage(read(t, dir, test.name)))
			pkg, err := m.ProviderPackage(t.Context(), alpha, v1, linux)
			if err == nil {
				_, err = provider.Download(t.Context(), m, pkg, filepath.Join(t.TempDir(), "x"), provider.DownloadOptions{Policy: verify.Policy{AllowUnchecked: true}})
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, failure.ErrNotFound) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// TestHarmless checks documents that state less than usual.
func TestHarmless(t *testing.T) {
	t.Parallel()
	for name, text := range casetest.Pairs(t, "harmless.txt") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, _ := newRegistry(t)
			m, dir := newMirror(t)
			rel := reg.AddProvider(regtest.Provider{Address: "acme/beta", Platforms: names(three)})
			content := make([]byte, rel.Archive("linux_amd64").Size())
			must.Get(rel.Archive("linux_amd64").ReadAt(content, 0))(t)
			write(t, dir, archive(v1, linux), string(content))
			write(t, dir, home+"/1.0.0.json", text)
			pkg := must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t)
			to := filepath.Join(t.TempDir(), "x")
			if _, err := provider.Download(t.Context(), m, pkg, to, provider.DownloadOptions{}); !errors.Is(err, verify.ErrUnchecked) && !errors.Is(err, verify.ErrUnsigned) {
				t.Errorf("zero policy: %v", err)
			}
			report, err := provider.Download(t.Context(), m, pkg, to, provider.DownloadOptions{Policy: verify.Policy{AllowUnchecked: true}})
			if err != nil || report.Trust != verify.Unchecked {
				t.Errorf("%v, %v", report, err)
			}
		})
	}
}

// all returns the elements of Mirror.All as text.
func all(t *testing.T, m *mirrordir.Mirror) (list []string) {
	t.Helper()
	for w, err := range m.All(t.Context()) {
		must.Do(t, err)
		list = append(list, w.String()+" "+strings.Join(names(w.Platforms), " "))
	}
	return list
}

// TestAll checks that All yields all added packages in order, and no others.
func TestAll(t *testing.T) {
	t.Parallel()
	for name, m := range mirrors(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := all(t, m); len(got) != 0 {
				t.Errorf("an empty mirror holds %v", got)
			}
			beta, bucher := addrs.MustParseProvider("registry.example.com/acme/beta"), addrs.MustParseProvider("bücher.example/acme/alpha")
			reg, src := newRegistry(t)
			reg.AddProvider(regtest.Provider{Address: "acme/beta", Version: "10.0.0-rc1", Platforms: names(three)})
			reg.AddProvider(regtest.Provider{Address: "acme/beta", Version: "9.0.0", Platforms: names(three)})
			reg.AddProvider(regtest.Provider{Address: bucher.String(), Platforms: names(three)})
			mustAdd(t, m, src, slices.Concat(wants(three, v1), wants(three[:1], v2), []mirrordir.Want{
				{Provider: bucher, Version: v1, Platforms: three[2:]},
				{Provider: beta, Version: addrs.MustParseVersion("10.0.0-rc1"), Platforms: three[:2]},
				{Provider: beta, Version: addrs.MustParseVersion("9.0.0"), Platforms: three[:2]},
			}), mirrordir.AddOptions{})
			// Other files, and archives in other directories.
			put(t, m.Store, home+"/3.0.0/linux_amd64/terraform-provider-alpha", "x")
			put(t, m.Store, home+"/notes.txt", "x")
			put(t, m.Store, "registry.example.com/acme/gamma/index.json", `{"versions":{"1.0.0":{}}}`)
			put(t, m.Store, "registry.example.com/acme/readme", "x")
			put(t, m.Store, "not a host/acme/alpha/terraform-provider-alpha_1.0.0_linux_amd64.zip", "x")
			want := []string{
				"bücher.example/acme/alpha 1.0.0 windows_amd64",
				"registry.example.com/acme/alpha 1.0.0 darwin_arm64 linux_amd64 windows_amd64",
				"registry.example.com/acme/alpha 2.0.0 linux_amd64",
				"registry.example.com/acme/beta 9.0.0 darwin_arm64 linux_amd64",
				"registry.example.com/acme/beta 10.0.0-rc1 darwin_arm64 linux_amd64",
			}
			got := all(t, m)
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			// Add accepts all elements of All and downloads nothing.
			var again []mirrordir.Want
			for w, err := range m.All(t.Context()) {
				must.Do(t, err)
				again = append(again, w)
			}
			if !slices.IsSortedFunc(again, func(a, b mirrordir.Want) int {
				if c := a.Provider.Compare(b.Provider); c != 0 {
					return c
				}
				return a.Version.Compare(b.Version)
			}) {
				t.Errorf("not sorted: %v", again)
			}
			reg.Reset()
			if fetched := mustAdd(t, m, src, again, mirrordir.AddOptions{}); fetched != 0 || reg.Count(0) != 0 {
				t.Errorf("%d fetched, %d requests", fetched, reg.Count(0))
			}
			for range m.All(t.Context()) {
				break // must not panic
			}
		})
	}
}

// TestAllFails checks that All yields an error for a provider that cannot be listed, and continues.
func TestAllFails(t *testing.T) {
	t.Parallel()
	_, dir, _, _ := filled(t)
	write(t, dir, "registry.example.com/acme/beta/terraform-provider-beta_1.0.0_linux_amd64.zip", "x")
	for at, want := range map[string]string{
		home:  "registry.example.com/acme/beta 1.0.0",
		".":   "",
		"x":   home + " 1.0.0, " + home + " 2.0.0, registry.example.com/acme/beta 1.0.0",
		"end": "",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if at == "end" {
			cancel()
		}
		var got []string
		failures := 0
		storage := &mirrortest.WatchedStore{Store: open(t, dir).Store, Before: func(op, name string) error {
			if op == "list" && name == at {
				return fs.ErrPermission
			}
			return nil
		}}
		for w, err := range (&mirrordir.Mirror{Store: storage}).All(ctx) {
			switch {
			case err == nil:
				got = append(got, w.String())
			case at == "end" && !errors.Is(err, context.Canceled), at != "end" && !errors.Is(err, fs.ErrPermission):
				t.Errorf("%s: %v", at, err)
			default:
				failures++
			}
		}
		if strings.Join(got, ", ") != want || (failures == 1) != (at != "x") {
			t.Errorf("%s: %q, %d failures; want %q", at, got, failures, want)
		}
	}
}
