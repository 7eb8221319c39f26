package mirrordir_test

import (
	"errors"
	"fmt"
	"github.com/tofureg/tofureg/storage"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func mustReindex(t testing.TB, m *mirrordir.Mirror) *mirrordir.CheckResult {
	t.Helper()
	return must.Get(m.Reindex(t.Context(), mirrordir.CheckOptions{}))(t)
}

// stated returns what clients read in a document.
func stated(t *testing.T, text string) string {
	return fmt.Sprint(mirrortest.Parse[document](t, text), mirrortest.Parse[index](t, text))
}

// TestReindex checks that Reindex restores the documents of Add from the archives.
func TestReindex(t *testing.T) {
	t.Parallel()
	m, dir, reg, client := filled(t)
	index, doc := read(t, dir, home+"/index.json"), read(t, dir, home+"/1.0.0.json")
	before := snapshot(t, dir)
	if report := mustReindex(t, m); !report.OK() || len(report.Notes) != 0 || report.Archives != 6 || report.Versions != 2 || report.Providers != 1 {
		t.Errorf("%+v", report)
	}
	if after := snapshot(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("a good mirror has been written to: %v\n%v", before, after)
	}

	for _, name := range files(t, dir) {
		if filepath.Ext(name) == ".json" {
			remove(t, dir, name)
		}
	}
	write(t, dir, ".tofureg/.tofureg-dead.part", "x")
	mustReindex(t, m)
	if stated(t, read(t, dir, home+"/index.json")) != stated(t, index) || stated(t, read(t, dir, home+"/1.0.0.json")) != stated(t, doc) {
		t.Error("the documents are not those that Add has made")
	}
	leftNothing(t, dir)
	report := mustCheck(t, m, mirrordir.CheckOptions{Policy: policyOf(verify.Policy{})})
	if len(report.Problems) != 6 || report.Problems[0].Kind != "refused" {
		t.Errorf("archives that nothing vouches for: %v", report.Problems)
	}
	// Add verifies the signatures.
	reg.Reset()
	if fetched := mustAdd(t, m, client, wants(three, v1, v2), mirrordir.AddOptions{}); fetched != 0 || reg.Count(regtest.Archive) != 0 {
		t.Errorf("%d fetched", fetched)
	}
	wantGood(t, m)
}

// TestReindexCorrects checks that Reindex removes wrong entries and keeps external ones.
func TestReindexCorrects(t *testing.T) {
	t.Parallel()
	m, dir, _, client := filled(t)
	write(t, dir, home+"/index.json", "{")
	// The hashes of another version, as some versions of the CLI leave them; an archive
	// that is not there; one that is elsewhere.
	doc := strings.ReplaceAll(read(t, dir, home+"/2.0.0.json"), "2.0.0", "1.0.0")
	doc = strings.Replace(doc, `"archives": {`, `"archives": {"plan9_mips": {"url": "x.zip"}, "plan9_arm": {"url": "https://example.com/x.zip"}, "plan9_386": null,`, 1)
	write(t, dir, home+"/1.0.0.json", doc)
	write(t, dir, home+"/3.0.0.json", `{"archives":{"linux_amd64":{"url":"gone.zip"}}}`)
	remove(t, dir, recordOf(v1, darwin))      // no record: hashed
	remove(t, dir, archive(v2, darwin))       // record is removed
	write(t, dir, archive(v2, linux), "PK")   // differs from its record
	write(t, dir, archive(v2, windows), "PK") // invalid archive
	remove(t, dir, recordOf(v2, windows))     // without a record
	report := mustReindex(t, m)
	var got []string
	for _, f := range slices.Concat(report.Problems, report.Notes) {
		got = append(got, string(f.Kind)+" "+filepath.Base(f.Name))
	}
	want := []string{
		"changed terraform-provider-alpha_2.0.0_linux_amd64.zip",
		"damaged terraform-provider-alpha_2.0.0_windows_amd64.zip",
		"corrected terraform-provider-alpha_1.0.0_darwin_arm64.zip",
		"corrected terraform-provider-alpha_1.0.0_linux_amd64.zip",
		"corrected terraform-provider-alpha_1.0.0_windows_amd64.zip",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	wantFiles(t, dir, home+"/index.json", home+"/1.0.0.json",
		archive(v1, linux), recordOf(v1, linux), archive(v1, darwin), recordOf(v1, darwin), archive(v1, windows), recordOf(v1, windows),
		archive(v2, linux), recordOf(v2, linux), archive(v2, windows))
	text := read(t, dir, home+"/1.0.0.json")
	if !strings.Contains(text, "https://example.com/x.zip") || strings.Contains(text, `"x.zip"`) || strings.Contains(text, "null") {
		t.Errorf("the document:\n%s", text)
	}
	if list := mirrortest.Parse[index](t, read(t, dir, home+"/index.json")); len(list.Versions) != 1 {
		t.Errorf("the index: %v", list)
	}
	if fetched := mustAdd(t, m, client, wants(three, v1, v2), mirrordir.AddOptions{}); fetched != 3 {
		t.Errorf("%d fetched, want 3", fetched)
	}
	if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
		t.Errorf("%v", report.Problems)
	}
}

// mirrors returns an empty mirror in a directory, and one in an object store.
func mirrors(t *testing.T) map[string]*mirrordir.Mirror {
	return map[string]*mirrordir.Mirror{"directory": open(t, t.TempDir()), "bucket": {Store: &bucket{}, TempDir: t.TempDir()}}
}

// TestReindexElsewhereInside checks that an entry may list any file of the mirror.
func TestReindexElsewhereInside(t *testing.T) {
	t.Parallel()
	for kind, m := range mirrors(t) {
		_, src := newRegistry(t)
		storage := m.Store
		mustAdd(t, m, src, wants(three[:1], v1), mirrordir.AddOptions{})
		pkg := must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		body := must.Get(m.Open(t.Context(), pkg))(t)
		bytes, name := string(must.Get(io.ReadAll(body))(t)), path.Base(archive(v1, linux))
		body.Close()
		must.Do(t, m.Remove(t.Context(), alpha))
		put(t, storage, home+"/download/"+name, bytes)
		put(t, storage, "shared/x.zip", bytes)
		put(t, storage, home+"/index.json", `{"versions":{"1.0.0":{},"2.0.0":{},"3.0.0":{}}}`)
		put(t, storage, home+"/1.0.0.json", `{"archives":{"linux_amd64":{"url":"download/`+name+`"},"plan9_arm":{"url":"download/gone.zip"},"plan9_386":{"url":"../../../.tofureg/x.zip"}}}`)
		put(t, storage, home+"/2.0.0.json", `{"archives":{"linux_amd64":{"url":"../../../shared/x.zip"}}}`)
		// One archive for three platforms: it is listed for the platform in its name.
		put(t, storage, archive(addrs.MustParseVersion("3.0.0"), darwin), bytes)
		other := path.Base(archive(addrs.MustParseVersion("3.0.0"), darwin))
		put(t, storage, home+"/3.0.0.json", `{"archives":{"darwin_amd64":{"url":"`+other+`"},"plan9_arm":{"url":"`+other+`","hashes":["zh:`+strings.Repeat("0", 64)+`"]}}}`)
		mustReindex(t, m)
		for v, want := range map[string][]string{"1.0.0": {"linux_amd64"}, "2.0.0": {"linux_amd64"}, "3.0.0": {"darwin_arm64"}} {
			if got := platformsOf(t, storage, addrs.MustParseVersion(v)); !slices.Equal(got, want) {
				t.Errorf("%s: %s lists %v, want %v", kind, v, got, want)
			}
		}
		if list := mirrortest.Parse[index](t, content(t, storage, home+"/index.json")); len(list.Versions) != 3 {
			t.Errorf("%s: the index lists %v", kind, list)
		}
		if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
			t.Errorf("%s: %v", kind, report.Problems)
		}
	}
}

// TestReindexNames checks that archives keep their names, and that Remove removes them with their records.
func TestReindexNames(t *testing.T) {
	t.Parallel()
	_, source, _, _ := filled(t)
	m, dir := newMirror(t)
	const name = home + "/terraform-provider-alpha_1_linux_amd64.ZIP"
	write(t, dir, name, read(t, source, archive(v1, linux)))
	mustReindex(t, m)
	checkDocuments(t, dir, home, map[string][]addrs.Platform{"1.0.0": {linux}})
	pkg, err := m.ProviderPackage(t.Context(), alpha, v1, linux)
	if err != nil || len(pkg.Hashes[linux]) != 2 {
		t.Errorf("%v, %v", pkg, err)
	}
	must.Do(t, m.Remove(t.Context(), alpha))
	wantFiles(t, dir)
}

// TestTakeOver runs Reindex on a directory that the CLI has written in two runs.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, takeOver)
}

func takeOver(t *testing.T, program string) {
	reg := regtest.New("registry.example.com")
	srv := must.Get(reg.ServeTLS())(t)
	defer srv.Close()
	p := addrs.MustParseProvider(srv.Addr + "/acme/alpha")
	project, dir := terraformtest.New(t, program), t.TempDir()
	project.Trust(t, srv.CertPEM)
	for _, version := range []string{"1.0.0", "2.0.0"} {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version, Platforms: names(three)})
		project.Require(t, map[string]string{p.String(): version})
		project.Run(t, "providers", "mirror", "-platform=linux_amd64", "-platform=darwin_arm64", dir)
	}
	m := open(t, dir)
	before := mustCheck(t, m, mirrordir.CheckOptions{})
	if before.Archives != 4 {
		t.Errorf("before: %+v", before)
	}
	for _, f := range before.Problems { // OpenTofu 1.12 writes the zh of the second run into the first document
		if !strings.Contains(f.Detail, "run Mirror.Add") || !strings.Contains(f.Detail, "Mirror.Reindex if only the document is wrong") || f.Version != v1 {
			t.Errorf("before: %v, want what corrects the document", f)
		}
	}
	mustReindex(t, m)
	after := mustCheck(t, m, mirrordir.CheckOptions{})
	if !after.OK() || len(after.Notes) > 0 || after.Archives != 4 {
		t.Errorf("after: %+v", after)
	}
	reg.Reset()
	w := []mirrordir.Want{{Provider: p, Version: v1, Platforms: three}, {Provider: p, Version: v2, Platforms: three}}
	if fetched := mustAdd(t, m, &regclient.Client{Transport: &transport.Settings{HTTP: srv.Client()}}, w, mirrordir.AddOptions{}); fetched != 2 || reg.Count(regtest.Archive) != 2 {
		t.Errorf("%d fetched, want 2, those that were missing: %v", fetched, reg.Requests())
	}
	if report := mustCheck(t, m, mirrordir.CheckOptions{Policy: policyOf(verify.Policy{})}); !report.OK() || len(report.Notes) > 0 {
		t.Errorf("in the end: %+v", report)
	}
}

// TestEvidenceSurvives lets the CLI write into a mirror of Add: it rewrites the documents of all versions of the provider. The
// evidence is still there, before and after Reindex and Add.
func TestEvidenceSurvives(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, evidenceSurvives)
}

func evidenceSurvives(t *testing.T, program string) {
	reg := regtest.New("registry.example.com")
	srv := must.Get(reg.ServeTLS())(t)
	defer srv.Close()
	p := addrs.MustParseProvider(srv.Addr + "/acme/alpha")
	for _, version := range []string{"1.0.0", "2.0.0"} {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version, Platforms: names(three)})
	}
	m, dir := newMirror(t)
	src := &regclient.Client{Transport: &transport.Settings{HTTP: srv.Client()}}
	w := []mirrordir.Want{{Provider: p, Version: v1, Platforms: three}}
	mustAdd(t, m, src, w, mirrordir.AddOptions{})
	document := "/acme/alpha/1.0.0.json"
	if text := read(t, dir, srv.Addr+document); !strings.Contains(text, `"tofureg"`) {
		t.Fatalf("Add has written\n%s", text)
	}
	project := terraformtest.New(t, program)
	project.Trust(t, srv.CertPEM)
	project.Require(t, map[string]string{p.String(): "2.0.0"})
	project.Run(t, "providers", "mirror", "-platform=linux_amd64", dir)
	if text := read(t, dir, srv.Addr+document); strings.Contains(text, `"tofureg"`) {
		t.Errorf("%s leaves the document of the other version\n%s", program, text)
	}
	vouched := func(when string) {
		t.Helper()
		for _, on := range three {
			pkg := must.Get(m.ProviderPackage(t.Context(), p, v1, on))(t)
			if report, err := provider.Download(t.Context(), m, pkg, filepath.Join(t.TempDir(), "x.zip"), provider.DownloadOptions{}); err != nil || report.Trust != verify.Signed {
				t.Errorf("%s: the package for %s: %+v, %v, want a signed one", when, on, report, err)
			}
		}
	}
	vouched("after " + program)
	mustReindex(t, m)
	vouched("after Reindex")
	reg.Reset()
	if fetched := mustAdd(t, m, src, w, mirrordir.AddOptions{}); fetched != 0 || reg.Count(0) != 0 {
		t.Errorf("Add fetches %d archives: %v", fetched, reg.Requests())
	}
	vouched("after Add")
	if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() || len(report.Notes) > 0 {
		t.Errorf("in the end: %+v", report)
	}
}

// TestFullIndex: Add does not write an index that nobody reads any more.
func TestFullIndex(t *testing.T) {
	t.Parallel()
	for more, want := range []error{nil, failure.ErrTooLarge} {
		m, dir := newMirror(t)
		_, src := newRegistry(t)
		full := `{"versions":{"2.0.0":{}`
		var b strings.Builder
		for i := range 99_998 + more {
			fmt.Fprintf(&b, `,"%d.0.0":{}`, i+3)
		}
		full += b.String() + "}}"
		write(t, dir, home+"/index.json", full)
		_, err := m.Add(t.Context(), src, wants(three[:1], v1), mirrordir.AddOptions{})
		if !errors.Is(err, want) || (read(t, dir, home+"/index.json") == full) != (want != nil) {
			t.Errorf("Add to an index of %d versions: %v, want %v", 99_999+more, err, want)
		}
	}
}

// TestBeyondLimits checks that a document or record beyond a limit is reported as damaged by Check
// and replaced by Reindex, and by Add if Add need not read it.
func TestBeyondLimits(t *testing.T) {
	t.Parallel()
	large := func(size int) func(string) string {
		return func(text string) string { return text + strings.Repeat(" ", size+1-len(text)) }
	}
	index, doc := home+"/index.json", home+"/1.0.0.json"
	tests := map[string]struct {
		name   string
		spoil  func(text string) string
		mended bool // by Add
	}{
		"index":    {index, large(16 << 20), false},
		"record":   {recordOf(v1, linux), large(4 << 20), true},
		"document": {doc, large(1 << 20), false},
		"hashes": {doc, func(text string) string {
			return strings.Replace(text, `"hashes": [`, `"hashes": [`+strings.Repeat(`"zh:`+strings.Repeat("0", 64)+`",`, 101), 1)
		}, false},
		"versions": {index, func(string) string {
			var b strings.Builder
			b.WriteString(`{"versions": {"1.0.0": {}`)
			for i := range 100_000 {
				fmt.Fprintf(&b, `,"%d.0.0": {}`, i+2)
			}
			return b.String() + "}}"
		}, false},
	}
	for name, test := range tests {
		for kind, m := range mirrors(t) {
			t.Run(name+" in "+kind, func(t *testing.T) {
				t.Parallel()
				_, src := newRegistry(t)
				storage := m.Store
				mustAdd(t, m, src, wants(three, v1, v2), mirrordir.AddOptions{})
				name := test.name
				if name == recordOf(v1, linux) {
					name = recordIn(t, storage, v1, linux)
				}
				good := content(t, storage, name)
				put(t, storage, name, strings.TrimSuffix(test.spoil(good), " ")) // one byte less
				if report := mustCheck(t, m, mirrordir.CheckOptions{}); report.OK() != strings.HasSuffix(test.spoil(good), " ") {
					t.Errorf("at the limit: %+v", report)
				}
				put(t, storage, name, test.spoil(good))
				report := mustCheck(t, m, mirrordir.CheckOptions{})
				if len(report.Problems) == 0 || report.Problems[0].Kind != "damaged" || report.Problems[0].Name != name || report.Archives != 6 {
					t.Errorf("%+v", report)
				}
				_, err := m.Add(t.Context(), src, wants(three, v1), mirrordir.AddOptions{})
				if test.mended {
					must.Do(t, err)
					must.Get(m.Sweep(t.Context()))(t)
					wantGood(t, m)
					put(t, storage, recordIn(t, storage, v1, linux), test.spoil(good))
				} else if !errors.Is(err, failure.ErrTooLarge) || !strings.Contains(err.Error(), "Reindex") {
					t.Errorf("Add: %v, want ErrTooLarge and what to do about it", err)
				}
				mustReindex(t, m)
				if strings.HasSuffix(kind, "bucket") { // where a document is all that says which archives are listed
					mustAdd(t, m, src, wants(three, v1), mirrordir.AddOptions{})
				}
				must.Get(m.Sweep(t.Context()))(t)
				if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() || len(report.Notes) > 0 || report.Archives != 6 {
					t.Errorf("%+v", report)
				}
				if kind == "directory" && !test.mended && stated(t, content(t, storage, name)) != stated(t, good) {
					t.Errorf("made anew it is another: %s", content(t, storage, name))
				}
			})
		}
	}
}

// content returns the content of a file.
func content(t testing.TB, s storage.Store, name string) string {
	t.Helper()
	o := must.Get(s.Open(t.Context(), name))(t)
	defer o.Close()
	return string(must.Get(io.ReadAll(o))(t))
}

func TestRemove(t *testing.T) {
	t.Parallel()
	m, dir, _, _ := filled(t)
	write(t, dir, home+"/1.0.0/linux_amd64/x", "x")
	must.Do(t, m.Remove(t.Context(), alpha, v1))
	want := []string{home + "/index.json", home + "/2.0.0.json", home + "/1.0.0/linux_amd64/x"}
	for _, p := range three {
		want = append(want, archive(v2, p), recordOf(v2, p))
	}
	wantFiles(t, dir, want...)
	wantGood(t, m)
	for range 2 { // the second call finds nothing
		must.Do(t, m.Remove(t.Context(), alpha))
		wantFiles(t, dir, home+"/1.0.0/linux_amd64/x")
	}
	if err := m.Remove(t.Context(), addrs.MustParseProvider("registry.example.com/acme/beta"), v1); err != nil {
		t.Errorf("of a provider that is not there: %v", err)
	}
	if err := m.Remove(t.Context(), addrs.Provider{}); err == nil {
		t.Error("no provider: no error")
	}
}

// TestRemoveListed checks that Remove removes versions that are only in the index.
func TestRemoveListed(t *testing.T) {
	t.Parallel()
	for _, files := range [][]string{
		{home + "/1.0.0.json", archive(v1, linux)},
		nil,
	} {
		m, dir := newMirror(t)
		for _, name := range files {
			write(t, dir, name, "{}")
		}
		write(t, dir, home+"/index.json", `{"versions":{"1.0.0":{},"2.0.0":{}}}`)
		must.Do(t, m.Remove(t.Context(), alpha))
		wantFiles(t, dir)
	}
	m, dir := newMirror(t)
	write(t, dir, home+"/index.json", "{")
	if err := m.Remove(t.Context(), alpha); err == nil || !strings.Contains(err.Error(), "Reindex") {
		t.Errorf("a damaged index: %v, want what to do about it", err)
	}
}

// TestRemoveWhileAdding checks that concurrent Add and Remove leave complete versions.
func TestRemoveWhileAdding(t *testing.T) {
	t.Parallel()
	_, dir, reg, _ := filled(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { mustAdd(t, open(t, dir), client(reg), wants(three, v1, v2), mirrordir.AddOptions{}) })
		wg.Go(func() {
			if err := open(t, dir).Remove(t.Context(), alpha, v1); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantGood(t, open(t, dir))
}

// TestRemoveLastWhileAdding checks that removing the last version keeps an index to which a
// concurrent Add adds a version.
func TestRemoveLastWhileAdding(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	for name, m := range mirrors(t) {
		for range 20 {
			mustAdd(t, m, client(reg), wants(three[:1], v1), mirrordir.AddOptions{})
			var wg sync.WaitGroup
			wg.Go(func() { mustAdd(t, m, client(reg), wants(three[:1], v2), mirrordir.AddOptions{}) })
			must.Do(t, m.Remove(t.Context(), alpha, v1))
			wg.Wait()
			must.Get(m.Sweep(t.Context()))(t)
			if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() || len(report.Notes) > 0 || report.Archives != 1 {
				t.Fatalf("%s: %+v", name, report)
			}
			must.Do(t, m.Remove(t.Context(), alpha, v2))
		}
	}
}

func TestAddLocked(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	beta := addrs.MustParseProvider("registry.example.com/acme/beta")
	reg.AddProvider(regtest.Provider{Address: "acme/beta", Platforms: names(three)})
	from, _ := newMirror(t)
	added := must.Get(from.Add(t.Context(), client, append(wants(three, v1), mirrordir.Want{Provider: beta, Version: v1, Platforms: three[:1]}), mirrordir.AddOptions{}))(t)
	var lock lockfile.File
	for _, a := range added {
		must.Do(t, lock.Merge(a.Provider, a.Version, addrs.ProviderConstraint{}, a.Report.Recordable()))
	}

	m, dir := newMirror(t)
	added, err := m.AddLocked(t.Context(), client, &lock, three, mirrordir.AddOptions{})
	if err != nil || len(added) != 6 {
		t.Fatalf("%d added, %v", len(added), err)
	}
	wantGood(t, m) // the evidence is recorded
	reg.Reset()
	if added, err := m.AddLocked(t.Context(), client, &lock, three, mirrordir.AddOptions{}); err != nil || len(added) != 6 || added[0].Fetched || added[0].Report != nil || reg.Count(0) != 0 {
		t.Errorf("again: %v, %v, %v", added, err, reg.Requests())
	}
	if text := strings.Join(files(t, dir), "\n"); strings.Contains(text, "2.0.0") {
		t.Errorf("more than what is locked:\n%s", text)
	}

	if _, err := m.AddLocked(t.Context(), client, &lock, nil, mirrordir.AddOptions{}); err == nil || !strings.Contains(err.Error(), "platforms") {
		t.Errorf("no platforms: %v", err)
	}
	if added, err := m.AddLocked(t.Context(), client, &lockfile.File{}, three, mirrordir.AddOptions{}); err != nil || len(added) != 0 {
		t.Errorf("an empty lock: %v, %v", added, err)
	}
}

// TestAddLockedRefuses checks that neither a signature nor a policy replaces a locked hash.
func TestAddLockedRefuses(t *testing.T) {
	t.Parallel()
	reg, client := newRegistry(t)
	rel := reg.AddProvider(regtest.Provider{Address: "acme/beta", Platforms: names(three)})
	beta := addrs.MustParseProvider("registry.example.com/acme/beta")
	lock, err := lockfile.Parse([]byte(`provider "registry.example.com/acme/beta" {
  version = "1.0.0"
  hashes = [
    "`+rel.H1("linux_amd64").String()+`",
  ]
}
`), "test.hcl")
	must.Do(t, err)
	m, _ := newMirror(t)
	o := mirrordir.AddOptions{Policy: policyOf(verify.Policy{AllowUnchecked: true, Accept: checksum.NewSet(rel.ZH("darwin_arm64"))})}
	if added, err := m.AddLocked(t.Context(), client, lock, three[:2], o); len(added) > 0 || !errors.Is(err, verify.ErrPolicy) {
		t.Errorf("with accepted hashes in the policy: %v, %v; want %v", added, err, verify.ErrPolicy)
	}
	o.Policy = policyOf(verify.Policy{AllowUnchecked: true})
	added, err := m.AddLocked(t.Context(), client, lock, three[:2], o)
	if len(added) != 1 || added[0].Platform != linux || !errors.Is(err, verify.ErrNotAccepted) {
		t.Errorf("%v, %v", added, err)
	}
	refused, ok := errors.AsType[*lockfile.NotLockedError](err)
	if !ok || refused.Provider != beta || refused.Platform != darwin || !strings.Contains(err.Error(), "tofu providers lock -platform=darwin_arm64 registry.example.com/acme/beta") {
		t.Errorf("AddLocked returned %v, want a NotLockedError with the command that helps", err)
	}
	if _, err := m.ProviderPackage(t.Context(), beta, v1, darwin); !errors.Is(err, provider.ErrNoPlatform) {
		t.Errorf("what is not locked is there: %v", err)
	}
}

// TestReindexOfNothing checks that a damaged index of a provider without versions goes in a directory, and is written anew in a bucket.
func TestReindexOfNothing(t *testing.T) {
	t.Parallel()
	for kind, m := range mirrors(t) {
		put(t, m.Store, home+"/index.json", "{")
		mustReindex(t, m)
		if list, err := m.ListedVersions(t.Context(), alpha); len(list) > 0 || err != nil && !errors.Is(err, failure.ErrNotFound) {
			t.Errorf("%s: ListedVersions after Reindex of a damaged index = %v, %v, want none", kind, list, err)
		}
	}
}
