package mirrordir_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/progress"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func TestAdd(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	m, dir := newMirror(t)
	if fetched := mustAdd(t, m, client, wants(three, v1), mirrordir.AddOptions{}); fetched != 3 {
		t.Errorf("%d archives fetched, want 3", fetched)
	}
	// Requests: discovery, 3 packages, one SHA256SUMS document, one signature, 3 archives.
	if n := reg.Count(0); n != 9 {
		t.Errorf("%d requests, want 9: %v", n, reg.Requests())
	}
	want := []string{home + "/index.json", home + "/1.0.0.json"}
	for _, p := range three {
		want = append(want, archive(v1, p), recordOf(v1, p))
	}
	wantFiles(t, dir, want...)
	const begin = "{\n  \"archives\": {\n    \"darwin_arm64\": {\n      \"hashes\": [\n        \"h1:"
	if text := read(t, dir, home+"/1.0.0.json"); !strings.HasPrefix(text, begin) {
		t.Errorf("the document is not written as the CLI does:\n%s", text)
	}
	checkDocuments(t, dir, home, map[string][]addrs.Platform{"1.0.0": three})

	// The second version does not change the document of the first.
	first := read(t, dir, home+"/1.0.0.json")
	mustAdd(t, m, client, wants(three[:1], v2), mirrordir.AddOptions{})
	if read(t, dir, home+"/1.0.0.json") != first {
		t.Error("adding 2.0.0 has changed the document of 1.0.0")
	}
	checkDocuments(t, dir, home, map[string][]addrs.Platform{"1.0.0": three, "2.0.0": three[:1]})
	leftNothing(t, dir)
}

// checkDocuments reads the documents like a network client and compares them with the archives.
func checkDocuments(t testing.TB, dir, documents string, want map[string][]addrs.Platform) {
	t.Helper()
	list := mirrortest.Parse[index](t, read(t, dir, documents+"/index.json"))
	if got := slices.Sorted(maps.Keys(list.Versions)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("the index has %q", got)
	}
	for version, platforms := range want {
		doc := mirrortest.Parse[document](t, read(t, dir, documents+"/"+version+".json"))
		if len(doc.Archives) != len(platforms) {
			t.Errorf("%s has %d archives, want %d", version, len(doc.Archives), len(platforms))
		}
		for _, platform := range platforms {
			a := doc.Archives[platform.String()]
			f, err := os.Open(follow(t, dir, documents+"/"+version+".json", a.URL))
			if err != nil {
				t.Errorf("%s %s: %v", version, platform, err)
				continue
			}
			defer f.Close()
			info, _ := f.Stat()
			zh, err1 := checksum.ZH(t.Context(), f)
			h1, _, err2 := checksum.H1Zip(t.Context(), f, info.Size(), checksum.Limits{})
			if got := []string{h1.String(), zh.String()}; err1 != nil || err2 != nil || !slices.Equal(a.Hashes, got) {
				t.Errorf("%s %s: stated are %q, the archive has %q, %v, %v", version, platform, a.Hashes, got, err1, err2)
			}
		}
	}
}

// leftNothing checks that the private directory has only the lock file.
func leftNothing(t testing.TB, dir string) {
	t.Helper()
	entries := must.Get(os.ReadDir(filepath.Join(dir, ".tofureg")))(t)
	for _, e := range entries {
		if e.Name() != "change.lock" {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

// TestAgain checks that existing packages cause no request.
func TestAgain(t *testing.T) {
	t.Parallel()
	m, dir, reg, client := filled(t)
	before := snapshot(t, dir)
	var kept atomic.Int32
	fetched := mustAdd(t, m, client, wants(three, v1, v2), mirrordir.AddOptions{Progress: func(e progress.Event) {
		if e.Kind == progress.Kept && e.Bytes > 0 {
			kept.Add(1)
		}
	}})
	if fetched != 0 || reg.Count(0) != 0 || kept.Load() != 6 {
		t.Errorf("%d fetched, %d kept, requests: %v", fetched, kept.Load(), reg.Requests())
	}
	if !maps.Equal(before, snapshot(t, dir)) {
		t.Error("files have been written")
	}
}

// snapshot identifies files by name, time and size.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range files(t, dir) {
		info := must.Get(os.Stat(filepath.Join(dir, name)))(t)
		all[name] = fmt.Sprint(info.ModTime(), info.Size())
	}
	return all
}

// TestRepair checks the number of requests to repair each kind of damage.
func TestRepair(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		damage   damage
		fetched  int
		requests int
	}{
		"archive is gone": {drop(archive(v1, linux)), 1, 5},
		"archive is cut":  {replaced(archive(v1, linux), "PK"), 1, 5},
		// Another archive of the same size, without a record.
		"archive is another one": {func(t *testing.T, dir string) {
			text := read(t, dir, archive(v1, linux))
			write(t, dir, archive(v1, linux), strings.Repeat("x", len(text)))
			remove(t, dir, recordOf(v1, linux))
		}, 1, 5},
		"record is gone":       {drop(recordOf(v1, linux)), 0, 4},
		"record is damaged":    {replaced(recordOf(v1, linux), "{"), 0, 4},
		"record is of another": {copied(recordOf(v1, linux), recordOf(v1, windows)), 0, 4},
		"document is gone":     {drop(home + "/1.0.0.json"), 0, 0},
		"index is gone":        {drop(home + "/index.json"), 0, 0},
		"index lists null":     {replaced(home+"/index.json", `{"versions":{"1.0.0":null,"2.0.0":{}}}`), 0, 0},
		"document is empty":    {replaced(home+"/1.0.0.json", `{}`), 0, 0},
		"document states the hashes of another version": {func(t *testing.T, dir string) {
			write(t, dir, home+"/1.0.0.json", strings.ReplaceAll(read(t, dir, home+"/2.0.0.json"), "2.0.0", "1.0.0"))
		}, 0, 0},
		"only the archives are left": {func(t *testing.T, dir string) {
			for _, name := range files(t, dir) {
				if filepath.Ext(name) == ".json" {
					remove(t, dir, name)
				}
			}
		}, 0, 11},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, dir, reg, _ := filled(t)
			fresh := client(reg) // without cached discovery
			want := files(t, dir)
			test.damage(t, dir)
			if fetched := mustAdd(t, m, fresh, wants(three, v1, v2), mirrordir.AddOptions{}); fetched != test.fetched {
				t.Errorf("%d archives fetched, want %d", fetched, test.fetched)
			}
			if n := reg.Count(0); n != test.requests {
				t.Errorf("%d requests, want %d: %v", n, test.requests, reg.Requests())
			}
			wantFiles(t, dir, want...)
			checkDocuments(t, dir, home, map[string][]addrs.Platform{"1.0.0": three, "2.0.0": three})
			leftNothing(t, dir)
			reg.Reset()
			if mustAdd(t, m, fresh, wants(three, v1, v2), mirrordir.AddOptions{}); reg.Count(0) != 0 {
				t.Errorf("not repaired: %v", reg.Requests())
			}
		})
	}
}

// TestUnreadableDocument checks that Add does not overwrite an invalid document.
func TestUnreadableDocument(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/1.0.0.json", "/index.json"} {
		m, dir, _, client := filled(t)
		write(t, dir, home+name, "{")
		remove(t, dir, archive(v1, linux))
		_, err := m.Add(t.Context(), client, wants(three, v1), mirrordir.AddOptions{})
		if err == nil || !strings.Contains(err.Error(), "damaged document") || !strings.Contains(err.Error(), "Reindex") {
			t.Errorf("%s: %v", name, err)
		}
		if read(t, dir, home+name) != "{" {
			t.Errorf("%s has been written over", name)
		}
	}
}

// TestForeignEntries checks which entries of other programs Add keeps: entries for other files, and
// entries for existing archives without a record.
func TestForeignEntries(t *testing.T) {
	t.Parallel()
	_, client := newRegistry(t)
	m, dir := newMirror(t)
	unrecorded := archive(v1, darwin)
	write(t, dir, unrecorded, "x") // like an archive of "tofu providers mirror"
	write(t, dir, home+"/0.1.json", `{"archives":{"linux_amd64":{"url":"https://example.com/x.zip"}}}`)
	write(t, dir, home+"/index.json", `{"note":1,"versions":{"0.1":{},"0.2.0":{},"1.0.0":{"x":[2]}}}`)
	write(t, dir, home+"/1.0.0.json", `{"note":[3],"archives":{
		"plan9_mips":{"url":"https://example.com/x.zip","more":4},
		"plan9_arm":{"url":"download/x.zip","hashes":["zh:`+strings.Repeat("0", 64)+`","h9:x"]},
		"darwin_arm64":{"url":"`+filepath.Base(unrecorded)+`","hashes":["h9:y"]},
		"windows_amd64":{"url":"`+filepath.Base(archive(v1, windows))+`"},
		"linux_amd64":{"url":"old.zip"}}}`)
	mustAdd(t, m, client, wants(three[:1], v1), mirrordir.AddOptions{})
	if got := slices.Sorted(maps.Keys(mirrortest.Parse[index](t, read(t, dir, home+"/index.json")).Versions)); !slices.Equal(got, []string{"0.1", "0.2.0", "1.0.0"}) {
		t.Errorf("the index lists %q, want also those of the other program", got)
	}
	text := read(t, dir, home+"/index.json") + read(t, dir, home+"/1.0.0.json")
	if strings.Contains(text, "note") || strings.Contains(text, "more") {
		t.Errorf("unknown members are still there:\n%s", text)
	}
	archives := mirrortest.Parse[document](t, read(t, dir, home+"/1.0.0.json")).Archives
	for platform, want := range map[string]string{
		"plan9_mips":   "https://example.com/x.zip []",
		"plan9_arm":    "download/x.zip [h9:x zh:" + strings.Repeat("0", 64) + "]",
		"darwin_arm64": filepath.Base(unrecorded) + " [h9:y]",
	} {
		if got := fmt.Sprint(archives[platform].URL, " ", archives[platform].Hashes); got != want {
			t.Errorf("%s is %s, want %s", platform, got, want)
		}
	}
	if a := archives["linux_amd64"]; len(archives) != 4 || a.URL != filepath.Base(archive(v1, linux)) || len(a.Hashes) != 2 {
		t.Errorf("%d archives, want 4; linux_amd64 is %+v", len(archives), a)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	schemes := func(t *testing.T, dir string) string {
		doc := mirrortest.Parse[document](t, read(t, dir, home+"/1.0.0.json"))
		var list []string
		for _, h := range doc.Archives["linux_amd64"].Hashes {
			list = append(list, h[:2])
		}
		return strings.Join(list, " ")
	}
	unsigned := policyOf(verify.Policy{AllowUnsigned: true})

	t.Run("stated h1", func(t *testing.T) {
		t.Parallel()
		reg := regtest.New("registry.example.com")
		rel := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: names(three), PackageHashes: true})
		m, dir := newMirror(t)
		mustAdd(t, m, client(reg), wants(three, v1), mirrordir.AddOptions{})
		if got := schemes(t, dir); got != "h1 zh" || !strings.Contains(read(t, dir, home+"/1.0.0.json"), rel.H1("linux_amd64").String()) {
			t.Errorf("hashes %q, want h1 zh", got)
		}
	})

	t.Run("no evidence, then some", func(t *testing.T) {
		t.Parallel()
		reg, client := newRegistry(t)
		m, dir := newMirror(t)
		mustAdd(t, m, client, wants(three, v1), mirrordir.AddOptions{Policy: unsigned})
		dropEvidence(t, m)
		if strings.Contains(read(t, dir, recordOf(v1, linux)), "evidence") {
			t.Error("evidence has been kept")
		}
		reg.Reset()
		if fetched := mustAdd(t, m, client, wants(three, v1), mirrordir.AddOptions{}); fetched != 0 || reg.Count(regtest.Archive) != 0 {
			t.Errorf("archives fetched: %v", reg.Requests())
		}
		reg.Reset()
		if mustAdd(t, m, client, wants(three, v1), mirrordir.AddOptions{}); reg.Count(0) != 0 {
			t.Errorf("again, with evidence: %v", reg.Requests())
		}
	})

	t.Run("unsigned", func(t *testing.T) {
		t.Parallel()
		reg := regtest.New("registry.example.com")
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: names(three), NoSums: true})
		client := client(reg)
		m, dir := newMirror(t)
		if _, err := m.Add(t.Context(), client, wants(three, v1), mirrordir.AddOptions{}); !errors.Is(err, verify.ErrUnsigned) {
			t.Errorf("zero policy: %v", err)
		}
		wantFiles(t, dir)
		mustAdd(t, m, client, wants(three, v1), mirrordir.AddOptions{Policy: unsigned})
		reg.Reset()
		if mustAdd(t, m, client, wants(three, v1), mirrordir.AddOptions{Policy: unsigned}); reg.Count(0) != 0 {
			t.Errorf("again: %v", reg.Requests())
		}
		// A stricter policy does not accept a record of a less strict one.
		if _, err := m.Add(t.Context(), client, wants(three, v1), mirrordir.AddOptions{}); !errors.Is(err, verify.ErrUnsigned) {
			t.Errorf("zero policy, archives there: %v", err)
		}
	})

	t.Run("unchecked, then unsigned", func(t *testing.T) {
		t.Parallel()
		// A mirror whose documents state no hashes.
		from, dir, _, client := filled(t)
		write(t, dir, home+"/1.0.0.json", `{}`)
		for _, p := range three {
			remove(t, dir, recordOf(v1, p))
		}
		m, _ := newMirror(t)
		o := mirrordir.AddOptions{Policy: policyOf(verify.Policy{AllowUnchecked: true})}
		mustAdd(t, m, from, wants(three, v1), o)
		if _, err := m.Add(t.Context(), from, wants(three, v1), mirrordir.AddOptions{Policy: unsigned}); !errors.Is(err, verify.ErrUnchecked) {
			t.Errorf("Add accepted hashes that the source does not state: %v", err)
		}
		if fetched := mustAdd(t, m, client, wants(three, v1), mirrordir.AddOptions{Policy: unsigned}); fetched != 0 {
			t.Errorf("%d archives fetched, want those that are there", fetched)
		}
	})

	t.Run("accepted hashes", func(t *testing.T) {
		t.Parallel()
		reg, client := newRegistry(t)
		rel := reg.AddProvider(regtest.Provider{Address: "acme/beta"})
		m, dir := newMirror(t)
		w := []mirrordir.Want{{Provider: addrs.MustParseProvider("registry.example.com/acme/beta"), Version: v1, Platforms: three[:1]}}
		if _, err := m.Add(t.Context(), client, w, mirrordir.AddOptions{Policy: policyOf(verify.Policy{Accept: checksum.NewSet()})}); !errors.Is(err, verify.ErrNotAccepted) {
			t.Errorf("none is accepted: %v", err)
		}
		wantFiles(t, dir)
		accept := mirrordir.AddOptions{Policy: policyOf(verify.Policy{Accept: checksum.NewSet(rel.H1("linux_amd64"))})}
		mustAdd(t, m, client, w, accept)
		reg.Reset()
		if mustAdd(t, m, client, w, accept); reg.Count(0) != 0 {
			t.Errorf("again: %v", reg.Requests())
		}
		// The evidence was recorded although the policy did not require it.
		if mustAdd(t, m, client, w, mirrordir.AddOptions{}); reg.Count(0) != 0 {
			t.Errorf("zero policy: %v", reg.Requests())
		}
	})
}

// TestBadEvidence checks that an invalid signature is not recorded.
func TestBadEvidence(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	reg.AddFault(regtest.Fault{Kind: regtest.Signature, Corrupt: true})
	m, dir := newMirror(t)
	rel := reg.AddProvider(regtest.Provider{Address: "acme/beta"})
	w := []mirrordir.Want{{Provider: addrs.MustParseProvider("registry.example.com/acme/beta"), Version: v1, Platforms: three[:1]}}
	mustAdd(t, m, client, w, mirrordir.AddOptions{Policy: policyOf(verify.Policy{Accept: checksum.NewSet(rel.ZH("linux_amd64"))})})
	text := read(t, dir, "registry.example.com/acme/beta/record_terraform-provider-beta_1.0.0_linux_amd64.json")
	if strings.Contains(text, "signature") || strings.Contains(text, "sums") {
		t.Errorf("kept:\n%s", text)
	}
	_, err := m.Add(t.Context(), client, w, mirrordir.AddOptions{})
	if !errors.Is(err, verify.ErrBadSignature) && !errors.Is(err, verify.ErrUnknownKey) {
		t.Errorf("zero policy: %v", err)
	}
}

// TestSources adds from each kind of source.
func TestSources(t *testing.T) {
	t.Parallel()
	from, dir, reg, _ := filled(t)
	m, _ := newMirror(t)
	mustAdd(t, m, from, wants(nil, v1), mirrordir.AddOptions{})
	pkg := must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	if report, err := provider.Download(t.Context(), m, pkg, filepath.Join(t.TempDir(), "x"), provider.DownloadOptions{}); err != nil || report.Trust != verify.Signed {
		t.Errorf("a mirror of a mirror: %v, %v", report, err)
	}
	if n := reg.Count(0); n != 0 {
		t.Errorf("%d requests", n)
	}

	remove(t, dir, archive(v2, linux))
	write(t, dir, home+"/2.0.0/linux_amd64/terraform-provider-alpha", "x")
	added, err := m.Add(t.Context(), from, wants(three, v2), mirrordir.AddOptions{})
	if !errors.Is(err, provider.ErrUnpacked) || len(added) != 2 {
		t.Errorf("an unpacked package: %d added, %v", len(added), err)
	}

	// A network mirror lists neither platforms nor signatures.
	network := hidden{from}
	m, _ = newMirror(t)
	if _, err := m.Add(t.Context(), network, wants(nil, v1), mirrordir.AddOptions{}); err == nil || !strings.Contains(err.Error(), "platforms") {
		t.Errorf("all platforms of a source that does not tell: %v", err)
	}
	if _, err := m.Add(t.Context(), network, wants(three, v1), mirrordir.AddOptions{}); !errors.Is(err, verify.ErrUnsigned) {
		t.Errorf("zero policy: %v", err)
	}
	mustAdd(t, m, network, wants(three, v1), mirrordir.AddOptions{Policy: policyOf(verify.Policy{AllowUnsigned: true})})
}

// hidden is a source with no more information than a network mirror.
type hidden struct{ provider.Source }

func (h hidden) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	versions, err := h.Source.ProviderVersions(ctx, p)
	for i := range versions.Versions {
		versions.Versions[i].Platforms = nil
	}
	return versions, err
}

func (h hidden) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	pkg, err := h.Source.ProviderPackage(ctx, p, v, platform)
	if err == nil {
		pkg.SumsURL, pkg.SignatureURL, pkg.Keys, pkg.Size = "", "", nil, 0
	}
	return pkg, err
}

// TestPartly checks that a failed package does not affect other packages.
func TestPartly(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "2.0.0_darwin", Corrupt: true})
	reg.AddFault(regtest.Fault{Kind: regtest.Package, Path: "/2.0.0/download/windows", Status: 502})
	m, dir := newMirror(t)
	w := append(wants(three, v1, v2), mirrordir.Want{Provider: addrs.MustParseProvider("registry.example.com/acme/none"), Version: v1})
	added, err := m.Add(t.Context(), client, w, mirrordir.AddOptions{})
	if len(added) != 4 {
		t.Errorf("%d packages added, want 4", len(added))
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 3 {
		t.Fatalf("%v; want three errors", err)
	}
	for i, want := range []string{"2.0.0 darwin_arm64: package \"terraform-provider-alpha_2.0.0_darwin_arm64.zip\" does not match", "2.0.0 windows_amd64: https://registry.example.com/v1/providers/acme/alpha/2.0.0/download/windows/amd64: HTTP status 502", "acme/none"} {
		e := joined.Unwrap()[i]
		if _, ok := errors.AsType[*failure.Error](e); !ok || !strings.Contains(e.Error(), want) || strings.Contains(e.Error(), "\n") {
			t.Errorf("%v, want %q", e, want)
		}
	}
	checkDocuments(t, dir, home, map[string][]addrs.Platform{"1.0.0": three, "2.0.0": {linux}})
	leftNothing(t, dir)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	_, client := newRegistry(t)
	m, dir := newMirror(t)
	for name, test := range map[string]struct {
		want mirrordir.Want
		text string
	}{
		"no provider":  {mirrordir.Want{Version: v1}, "no mirror can have the provider"},
		"no version":   {mirrordir.Want{Provider: alpha}, "the version or a platform is missing"},
		"built-in":     {mirrordir.Want{Provider: addrs.MustParseProvider("terraform.io/builtin/terraform"), Version: v1}, "no mirror can have the provider"},
		"legacy":       {mirrordir.Want{Provider: addrs.MustParseProvider("-/aws"), Version: v1}, "no mirror can have the provider"},
		"no platform":  {mirrordir.Want{Provider: alpha, Version: v1, Platforms: []addrs.Platform{{}}}, "platform is missing"},
		"not on offer": {mirrordir.Want{Provider: alpha, Version: addrs.MustParseVersion("3.0.0")}, "no version matches"},
	} {
		_, err := m.Add(t.Context(), client, append(wants(three, v1)[:0:0], test.want), mirrordir.AddOptions{})
		if err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if added, err := m.Add(t.Context(), client, nil, mirrordir.AddOptions{Parallel: -1}); len(added) != 0 || err != nil {
		t.Errorf("nothing wanted: %v, %v", added, err)
	}
	wantFiles(t, dir)
}

// TestTwice checks that wants of the same package are merged.
func TestTwice(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	m, _ := newMirror(t)
	w := slices.Concat(wants(three[:2], v1), wants(three[1:], v1), wants(three[:1], v2), wants(nil, v2))
	if fetched := mustAdd(t, m, client, w, mirrordir.AddOptions{}); fetched != 6 || reg.Count(regtest.Archive) != 6 {
		t.Errorf("%d fetched, want 6: %v", fetched, reg.Requests())
	}
}

// TestHosts: a host has its directory in Unicode, as the CLI writes it, with its port.
func TestHosts(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"bücher.example/täst/ünit", "registry.example.com:8443/acme/alpha"} {
		if runtime.GOOS == "windows" && strings.Contains(address, ":") {
			continue // Windows does not support colons in file names
		}
		p, v := addrs.MustParseProvider(address), addrs.MustParseVersion("1.0.0+a.b")
		reg := regtest.New("registry.example.com")
		reg.AddProvider(regtest.Provider{Address: address, Version: v.String(), Platforms: names(three)})
		m, dir := newMirror(t)
		mustAdd(t, m, client(reg), []mirrordir.Want{{Provider: p, Version: v, Platforms: three}}, mirrordir.AddOptions{})
		checkDocuments(t, dir, address, map[string][]addrs.Platform{v.String(): three})
		if versions, err := m.ProviderVersions(t.Context(), p); err != nil || len(versions.Versions) != 1 {
			t.Errorf("ProviderVersions(%s) = %v, %v, want one", p, versions, err)
		}
		if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() || len(report.Notes) > 0 {
			t.Errorf("Check = %+v, want no finding", report)
		}
		must.Do(t, m.Remove(t.Context(), p))
		wantFiles(t, dir)
	}
}

// TestOthersError: an error that wraps the *Error of another operation gets one of its own.
func TestOthersError(t *testing.T) {
	t.Parallel()
	m, _ := newMirror(t)
	src := failing{Err: fmt.Errorf("my source: %w", &failure.Error{Op: "list", Err: os.ErrPermission})}
	_, err := m.Add(t.Context(), src, wants(three[:1], v1), mirrordir.AddOptions{})
	if !strings.HasPrefix(err.Error(), "mirror "+alpha.String()+" 1.0.0 ") || !errors.Is(err, os.ErrPermission) {
		t.Errorf("Add returned %v, want an error about mirroring the package", err)
	}
}

// TestConcurrentAdds checks that concurrent calls download an archive once.
func TestConcurrentAdds(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	_, dir := newMirror(t)
	var wg sync.WaitGroup
	var fetched atomic.Int32
	for i := range 8 {
		wg.Go(func() {
			w := wants(three[i%3:], v1, v2)
			fetched.Add(int32(mustAdd(t, open(t, dir), client(reg), w, mirrordir.AddOptions{Parallel: 1 + i%3})))
		})
	}
	wg.Wait()
	if fetched.Load() != 6 || reg.Count(regtest.Archive) != 6 {
		t.Errorf("%d fetched, want 6: %v", fetched.Load(), reg.Requests())
	}
	checkDocuments(t, dir, home, map[string][]addrs.Platform{"1.0.0": three, "2.0.0": three})
	leftNothing(t, dir)
}

// TestCancelled checks that Add returns soon after its context ends, and that the next Add
// completes the mirror.
func TestCancelled(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "3.0.0", Platforms: names(three), Size: 1 << 20})
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "3.0.0_linux", Break: "stall", After: 1000})
	m, dir := newMirror(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	v3 := addrs.MustParseVersion("3.0.0")
	done := 0
	added, err := m.Add(ctx, client, wants(three, v3), mirrordir.AddOptions{Progress: func(e progress.Event) {
		if e.Kind == progress.Verified {
			if done++; done == 2 {
				cancel(reason)
			}
		}
	}})
	if len(added) != 2 || !errors.Is(err, context.Canceled) && !errors.Is(err, reason) {
		t.Errorf("%d added, %v", len(added), err)
	}
	checkDocuments(t, dir, home, map[string][]addrs.Platform{"3.0.0": {darwin, windows}})
	leftNothing(t, dir)
	reg.ClearFaults()
	if fetched := mustAdd(t, m, client, wants(three, v3), mirrordir.AddOptions{}); fetched != 1 {
		t.Errorf("%d fetched, want 1", fetched)
	}
	if _, err := m.Add(ctx, client, wants(three, v3), mirrordir.AddOptions{}); !errors.Is(err, reason) {
		t.Errorf("with a context that has ended: %v", err)
	}
}
