package regclient_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// install chooses a version and downloads it with the strict policy.
func install(ctx context.Context, c *regclient.Client, p addrs.Provider, path string) (*verify.Report, error) {
	versions, err := c.ProviderVersions(ctx, p)
	if err != nil {
		return nil, err
	}
	version, err := versions.NewestFor(addrs.MustParseProviderConstraint("~> 1.0"), provider.Need{Platforms: []addrs.Platform{linux}})
	if err != nil {
		return nil, err
	}
	pkg, err := c.ProviderPackage(ctx, p, version, linux)
	if err != nil {
		return nil, err
	}
	return provider.Download(ctx, c, pkg, path, provider.DownloadOptions{})
}

// wantRequests compares the number of requests of each kind. Servers are known to answer nothing but GET.
func wantRequests(t *testing.T, reg *regtest.Registry, want map[regtest.Kind]int) {
	t.Helper()
	for kind, n := range want {
		if got := reg.Count(kind); got != n {
			t.Errorf("%d requests of kind %v, want %d", got, kind, n)
		}
	}
	for _, r := range reg.Requests() {
		if r.Method != http.MethodGet {
			t.Errorf("%s, want only GET", r)
		}
	}
}

// TestColdInstall: a download makes six requests, four of them in sequence.
func TestColdInstall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Second
		reg := regtest.New(host)
		rel := reg.AddProvider(alphaAt("1.2.0"))
		reg.Latency = delay
		c := client(reg)
		path := filepath.Join(t.TempDir(), "alpha.zip")
		begin := time.Now()
		report := must.Get(install(t.Context(), c, alpha, path))(t)
		if took := time.Since(begin); took != 4*delay {
			t.Errorf("took %v, want 4 answers one after the other", took)
		}
		wantRequests(t, reg, map[regtest.Kind]int{
			regtest.Discovery: 1, regtest.Versions: 1, regtest.Package: 1, regtest.Sums: 1, regtest.Signature: 1, regtest.Archive: 1, 0: 6,
		})
		if report.Trust != verify.Signed || report.SignedBy == nil || !slices.Contains(report.Local, rel.ZH("linux_amd64")) {
			t.Errorf("report %+v", report)
		}
		want, err := io.ReadAll(rel.Archive("linux_amd64"))
		if got, readErr := os.ReadFile(path); err != nil || readErr != nil || !bytes.Equal(got, want) {
			t.Errorf("the file is not the archive: %v, %v", err, readErr)
		}

		// Discovery is known now.
		reg.Reset()
		begin = time.Now()
		must.Get(install(t.Context(), c, alpha, path))(t)
		if took := time.Since(begin); took != 3*delay || reg.Count(0) != 5 {
			t.Errorf("the second time: %v, %d requests; want 3s, 5", took, reg.Count(0))
		}
	})
}

// TestLockedInstall: with hashes of a lock file, versions and evidence are not requested.
func TestLockedInstall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := regtest.New(host)
		rel := reg.AddProvider(alphaAt("1.2.0"))
		reg.Latency = time.Second
		c := client(reg)
		begin := time.Now()
		pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v120, linux))(t)
		o := provider.DownloadOptions{Policy: verify.Policy{Accept: checksum.NewSet(rel.ZH("linux_amd64"))}}
		must.Get(provider.Download(t.Context(), c, pkg, filepath.Join(t.TempDir(), "alpha.zip"), o))(t)
		if took := time.Since(begin); took != 3*time.Second || reg.Count(0) != 3 {
			t.Errorf("%v, %d requests; want 3s, 3", took, reg.Count(0))
		}
	})
}

// TestSharedRequests: concurrent calls share a request. Each caller may change its result.
func TestSharedRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := registry()
		reg.Latency = time.Second
		c := client(reg)
		const callers = 20
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				versions, err1 := c.ProviderVersions(t.Context(), alpha)
				pkg, err2 := c.ProviderPackage(t.Context(), alpha, v120, linux)
				if err1 != nil || err2 != nil {
					t.Errorf("ProviderVersions returned %v, ProviderPackage %v, want no errors", err1, err2)
					return
				}
				versions.Versions[0] = provider.Release{}
				ev, err := c.Evidence(t.Context(), pkg)
				if err != nil || len(ev.Sums) == 0 || ev.Sums[0] == 0 {
					t.Errorf("evidence %q, %v", ev.Sums, err)
					return
				}
				ev.Sums[0], pkg.URL, pkg.Keys[0].Armor = 0, "", ""
			})
		}
		wg.Wait()
		wantRequests(t, reg, map[regtest.Kind]int{
			regtest.Discovery: 1, regtest.Versions: 1, regtest.Package: 1, regtest.Sums: 1, regtest.Signature: 1, 0: 5,
		})
	})
}

// TestCallersLeave: a shared request ends with the context of its last caller.
func TestCallersLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := registry()
		reg.AddFault(regtest.Fault{Kind: regtest.Versions, Delay: time.Minute})
		c := client(reg)
		c.Transport.Timeout = -1
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.ProviderVersions(ctx, alpha); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the impatient one: %v", err)
			}
		})
		wg.Go(func() {
			if _, err := c.ProviderVersions(t.Context(), alpha); err != nil {
				t.Errorf("the patient one: %v", err)
			}
		})
		wg.Wait()
		if n := reg.Count(regtest.Versions); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

// TestEvidenceFails: the first failure cancels the other request and is returned.
func TestEvidenceFails(t *testing.T) {
	t.Parallel()
	for _, kind := range []regtest.Kind{regtest.Sums, regtest.Signature} {
		synctest.Test(t, func(t *testing.T) {
			reg := registry()
			c := client(reg)
			c.Transport.Timeout = -1
			pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v120, linux))(t)
			reg.AddFault(regtest.Fault{Kind: kind, Status: http.StatusTeapot, Delay: time.Second})
			reg.AddFault(regtest.Fault{Kind: (regtest.Sums | regtest.Signature) &^ kind, Delay: time.Hour})
			begin := time.Now()
			_, err := c.Evidence(t.Context(), pkg)
			if e := asError(t, err); e.Status != http.StatusTeapot || errors.Is(err, context.Canceled) {
				t.Errorf("%v: Evidence returned %v, want status 418", kind, err)
			}
			if took := time.Since(begin); took != time.Second {
				t.Errorf("%v: took %v, want 1s", kind, took)
			}
		})
	}
}

func TestEvidenceLimits(t *testing.T) {
	t.Parallel()
	for kind, limit := range map[regtest.Kind]int{regtest.Sums: 1 << 20, regtest.Signature: 64 << 10} {
		for n, want := range map[int]error{limit: nil, limit + 1: failure.ErrTooLarge} {
			reg := registry()
			reg.AddFault(regtest.Fault{Kind: kind, Raw: bytes.Repeat([]byte("x"), n)})
			c := client(reg)
			pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v120, linux))(t)
			if _, err := c.Evidence(t.Context(), pkg); !errors.Is(err, want) {
				t.Errorf("%v of %d bytes: %v, want %v", kind, n, err, want)
			}
		}
	}
}

// TestEvidenceAbsent: without a URL the file is nil. An empty file is an error under every policy.
func TestEvidenceAbsent(t *testing.T) {
	t.Parallel()
	reg := registry()
	c := client(reg)
	pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v120, linux))(t)
	for name, kind := range map[string]regtest.Kind{"signature": regtest.Signature, "checksums": regtest.Sums} {
		reg.ClearFaults()
		reg.AddFault(regtest.Fault{Kind: kind, Raw: []byte{}})
		_, err := c.Evidence(t.Context(), pkg)
		if e := asError(t, err); e.Op != "fetch the "+name+" of" || !errors.Is(err, verify.ErrEmpty) || errors.Is(err, failure.ErrNotFound) {
			t.Errorf("%s: Evidence returned %v, want ErrEmpty", name, err)
		}
		options := provider.DownloadOptions{Policy: verify.Policy{AllowUnsigned: true}}
		if _, err := provider.Download(t.Context(), c, pkg, filepath.Join(t.TempDir(), "a.zip"), options); !errors.Is(err, verify.ErrEmpty) {
			t.Errorf("%s, AllowUnsigned: %v", name, err)
		}
	}
	reg = registry() // the first one may still count requests of the failed calls
	c = client(reg)
	pkg.SumsURL, pkg.SignatureURL = "", ""
	if ev, err := c.Evidence(t.Context(), pkg); err != nil || ev.Sums != nil || ev.Signature != nil || reg.Count(0) != 0 {
		t.Errorf("%+v, %v, %d requests", ev, err, reg.Count(0))
	}
}

// TestReadErrors: a failed transfer returns a *failure.Error.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	reg := registry()
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Break: "cut", After: 100})
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Skip: 1, Status: http.StatusForbidden})
	c := client(reg)
	pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v120, linux))(t)
	body := must.Get(c.Open(t.Context(), pkg))(t)
	defer body.Close()
	n, err := io.Copy(io.Discard, body)
	if e := asError(t, err); n != 100 || e.Op != "fetch" || e.Subject != pkg.String() {
		t.Errorf("read %d bytes and %v, want 100 and an error", n, err)
	}
}

func TestOpenUnpacked(t *testing.T) {
	t.Parallel()
	pkg := filesOf(host)
	pkg.URL, pkg.Dir = "", "somewhere"
	if _, err := client(registry()).Open(t.Context(), pkg); !errors.Is(err, provider.ErrUnpacked) {
		t.Errorf("%v, want ErrUnpacked", err)
	}
	pkg.Dir = ""
	for op, call := range map[string]func() error{
		"Open":     func() error { _, err := client(registry()).Open(t.Context(), nil); return err },
		"Evidence": func() error { _, err := client(registry()).Evidence(t.Context(), nil); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "the package is missing") {
			t.Errorf("%s of a nil package: %v, want an error", op, err)
		}
	}
	if _, err := client(registry()).Open(t.Context(), pkg); errors.Is(err, provider.ErrUnpacked) || !strings.Contains(err.Error(), "no URL") {
		t.Errorf("%v, want an error about the URL", err)
	}
}

func sourceOf(m addrs.Module) addrs.ModuleSource { return addrs.ModuleSource{Module: m} }

// TestTenModules: ten modules need four answers in sequence and one discovery.
func TestTenModules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Second
		reg := regtest.New(host)
		reg.Latency = delay
		dir := t.TempDir()
		var requests []module.Request
		var want []*regtest.ModuleRelease
		for i := range 10 {
			name := fmt.Sprintf("acme/module%d/aws", i)
			reg.AddModule(regtest.Module{Address: name, Version: "2.0.0"})
			want = append(want, reg.AddModule(regtest.Module{Address: name, Version: "1.2.0", Format: []string{"tar.gz", "zip", "tar.xz"}[i%3]}))
			requests = append(requests, module.Request{
				Source:     addrs.MustParseModuleSource(host + "/" + name),
				Constraint: addrs.MustParseModuleConstraint("~> 1.0"),
				Dir:        filepath.Join(dir, fmt.Sprint(i)),
			})
		}
		begin := time.Now()
		results := must.Get(module.DownloadAll(t.Context(), client(reg), requests, module.Options{}))(t)
		if took := time.Since(begin); took != 4*delay {
			t.Errorf("took %v, want 4 answers one after the other", took)
		}
		wantRequests(t, reg, map[regtest.Kind]int{
			regtest.Discovery: 1, regtest.ModuleVersions: 10, regtest.ModuleLocation: 10, regtest.ModulePackage: 10, 0: 31,
		})
		for i, result := range results {
			if r := result.Report; r.Version.String() != "1.2.0" || r.H1 != want[i].H1() {
				t.Errorf("report %+v, want h1 %s", r, want[i].H1())
			}
			must.Get(os.Stat(filepath.Join(dir, fmt.Sprint(i), "main.tf")))(t)
		}
	})
}

// TestModuleWays: each way of serving a package results in the same files.
func TestModuleWays(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	tests := map[string]regtest.Module{
		"header":             {},
		"body":               {Answer: "body", Format: "zip"},
		"both":               {Answer: "both", Format: "tar.xz"},
		"empty body":         {Answer: "empty body", Format: "tar.xz"},
		"body without":       {Answer: "empty object"},
		"root-relative":      {URLs: "root-relative"},
		"relative":           {URLs: "relative", Answer: "body"},
		"opaque":             {URLs: "opaque", Format: "zip"},
		"token in the query": {Query: "token=abc"},
		"checksum":           {Checksum: true},
		"elsewhere":          {Origin: "https://files.example.com"},
		"a page":             {Pages: 1},
		"pages with tags":    {Pages: 3, MetaTag: true, Origin: "https://pages.example.com"},
		"subdirectory":       {Subdir: "modules/subnet"},
		"direct":             {UseRegistryCredentials: &no, URLs: "relative"},
		"direct, with token": {UseRegistryCredentials: &yes, URLs: "opaque", Format: "zip"},
	}
	for name, m := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := regtest.New(host)
			m.Address = "acme/network/aws"
			rel := reg.AddModule(m)
			reg.Require(secret, regtest.Discovery|regtest.ModuleVersions|regtest.ModuleLocation)
			if m.UseRegistryCredentials == &yes {
				reg.Require(secret, 0)
			}
			c := client(reg)
			c.Transport.Credentials = tokens(secret)
			dir := filepath.Join(t.TempDir(), "network")
			report := must.Get(module.Download(t.Context(), c, module.Request{Source: sourceOf(network), Dir: dir}, module.Options{}))(t)
			if report.H1 != rel.H1() || report.Subdir != m.Subdir || len(report.Via) != m.Pages {
				t.Errorf("report %+v, want h1 %s", report, rel.H1())
			}
			must.Get(os.Stat(filepath.Join(report.ModuleDir(), "main.tf")))(t)
		})
	}
}

// TestPresignedHTTP: an http URL is refused, and the error names the field that allows it.
func TestPresignedHTTP(t *testing.T) {
	t.Parallel()
	reg := moduleRegistry(regtest.Module{Origin: "http://store.example.com", URLs: "opaque", Query: "archive=tar.gz&X-Amz-Signature=" + secret})
	reg.AddFault(regtest.Fault{Kind: regtest.ModulePackage, RefuseToken: true})
	for _, allowed := range []bool{false, true} {
		c := client(reg)
		c.Transport.AllowHTTP, c.Transport.Credentials = allowed, tokens("t0ken")
		_, err := module.Download(t.Context(), c, module.Request{Source: sourceOf(network), Version: v100, Dir: filepath.Join(t.TempDir(), "n")}, module.Options{})
		switch {
		case allowed && err != nil:
			t.Errorf("with AllowHTTP: error %v, want none", err)
		case !allowed && (!errors.Is(err, failure.ErrInsecure) || !strings.Contains(err.Error(), "AllowHTTP") || strings.Contains(err.Error(), secret)):
			t.Errorf("without AllowHTTP: error %v, want ErrInsecure", err)
		}
	}
}
