package provider_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"testing/fstest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// The newest version that a constraint allows, for the platform that the program names.
func ExampleFind() {
	reg := regtest.New("registry.example.com")
	for _, version := range []string{"1.0.0", "1.1.0", "2.0.0"} {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version, Platforms: []string{"linux_amd64"}})
	}
	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}

	alpha := addrs.MustParseProvider("registry.example.com/acme/alpha")
	need := provider.Need{Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")}}
	pkg, err := provider.Find(context.Background(), client, alpha, addrs.MustParseProviderConstraint("~> 1.0"), need)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pkg)
	fmt.Println(pkg.ArchiveName())

	need.Platforms = append(need.Platforms, addrs.MustParsePlatform("plan9_arm"))
	_, err = provider.Find(context.Background(), client, alpha, addrs.ProviderConstraint{}, need)
	fmt.Println(errors.Is(err, provider.ErrNoPlatform))
	// Output:
	// registry.example.com/acme/alpha 1.1.0 linux_amd64
	// terraform-provider-alpha_1.1.0_linux_amd64.zip
	// true
}

// A program that trusts what the CLI trusts by default: an archive whose key has expired, but not one without a signature.
func ExampleCLIPolicy() {
	day := func(n int) time.Time { return time.Date(2020, 1, n, 0, 0, 0, 0, time.UTC) }
	expired := regtest.NewKey(regtest.KeyOptions{Created: day(1), Expires: day(2), Signs: day(3)})
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0", Platforms: []string{"linux_amd64"}, Keys: []*regtest.Key{expired}})
	reg.AddProvider(regtest.Provider{Address: "acme/beta", Version: "1.0.0", Platforms: []string{"linux_amd64"}, NoSums: true})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	need := provider.Need{Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")}}
	for _, name := range []string{"alpha", "beta"} {
		p := addrs.MustParseProvider("registry.example.com/acme/" + name)
		pkg, err := provider.Find(context.Background(), client, p, addrs.ProviderConstraint{}, need)
		if err != nil {
			log.Fatal(err)
		}
		for _, policies := range []provider.Policies{nil, provider.CLIPolicy} {
			o := provider.DownloadOptions{Policy: policies.For(p)}
			_, err := provider.Download(context.Background(), client, pkg, filepath.Join(dir, pkg.ArchiveName()), o)
			fmt.Println(name, errors.Is(err, verify.ErrExpired), errors.Is(err, verify.ErrUnsigned))
		}
	}
	// Output:
	// alpha true false
	// alpha false false
	// beta false true
	// beta false true
}

// A download with a progress display and the hashes of a lock file. The archive must have one of
// the hashes. The signature is not needed.
func ExampleDownload() {
	reg := regtest.New("registry.example.com")
	release := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Platforms: []string{"linux_amd64"}, Size: 100_000})
	locked := []checksum.Hash{release.H1("linux_amd64"), release.ZH("linux_amd64")}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	pkg, err := client.ProviderPackage(ctx, addrs.MustParseProvider("registry.example.com/acme/alpha"),
		addrs.MustParseVersion("1.2.0"), addrs.MustParsePlatform("linux_amd64"))
	if err != nil {
		log.Fatal(err)
	}
	report, err := provider.Download(ctx, client, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.DownloadOptions{
		Policy: verify.Policy{Accept: checksum.NewSet(locked...)},
		Progress: func(e progress.Event) {
			if e.Kind == progress.Verified {
				fmt.Println("verified", e.Provider, e.Version, e.Bytes == e.Total)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("trust:", report.Trust)
	// Output:
	// verified registry.example.com/acme/alpha 1.2.0 true
	// trust: accepted
}

// mirrorOf returns a mirror in memory with one version of acme/alpha.
func mirrorOf(version string) *mirrorclient.Client {
	const dir = "registry.example.com/acme/alpha/"
	files := fstest.MapFS{
		dir + "index.json":      {Data: []byte(`{"versions": {"` + version + `": {}}}`)},
		dir + version + ".json": {Data: []byte(`{"archives": {"linux_amd64": {"url": "alpha.zip"}}}`)},
	}
	return &mirrorclient.Client{
		BaseURL:   "https://mirror.example.com/",
		Transport: &transport.Settings{HTTP: &http.Client{Transport: http.NewFileTransportFS(files)}},
	}
}

// A mirror for the providers of one namespace, and the registry for all others, as in a
// provider_installation block of the CLI configuration.
func ExampleMulti() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.1.0"})
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})

	src := &provider.Multi{
		Sources: []provider.NamedSource{
			{Name: "mirror", Source: mirrorOf("1.1.0"), Patterns: provider.Patterns{Include: []provider.Pattern{provider.MustParsePattern("registry.example.com/acme/*")}}},
			{Name: "direct", Source: &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}},
		},
		Skipped: func(source string, err error) { fmt.Println("skipped:", source) },
	}
	ctx := context.Background()
	versions, err := src.ProviderVersions(ctx, addrs.MustParseProvider("registry.example.com/acme/alpha"))
	if err != nil {
		log.Fatal(err)
	}
	for _, release := range versions.Versions {
		pkg, err := src.ProviderPackage(ctx, versions.Provider, release.Version, addrs.MustParsePlatform("linux_amd64"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pkg.Version, "from", pkg.Via[0])
	}
	// Output:
	// skipped: mirror
	// 1.2.0 from direct
	// 1.1.0 from mirror
}

// Two mirrors with the same content. The first one is unavailable.
func ExampleMulti_failover() {
	down := &mirrorclient.Client{
		BaseURL: "https://eu.mirror.example.com/",
		Transport: &transport.Settings{
			Retries: -1,
			HTTP: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Request: r}, nil
			})},
		},
	}
	src := &provider.Multi{
		Failover: true,
		Sources: []provider.NamedSource{
			{Name: "eu", Source: down},
			{Name: "us", Source: mirrorOf("1.1.0")},
		},
		Skipped: func(source string, err error) { fmt.Println("skipped:", err) },
	}
	pkg, err := src.ProviderPackage(context.Background(), addrs.MustParseProvider("registry.example.com/acme/alpha"),
		addrs.MustParseVersion("1.1.0"), addrs.MustParsePlatform("linux_amd64"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pkg, "from", pkg.Via[0])
	// Output:
	// skipped: find registry.example.com/acme/alpha 1.1.0 linux_amd64: https://eu.mirror.example.com/registry.example.com/acme/alpha/1.1.0.json: HTTP status 503: service unavailable
	// registry.example.com/acme/alpha 1.1.0 linux_amd64 from us
}

// After a fault, another source may answer. The end of the caller's context is no fault.
func ExampleIsFault() {
	reg := regtest.New("registry.example.com")
	reg.AddFault(regtest.Fault{Status: http.StatusServiceUnavailable})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
	expired, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	for _, ctx := range []context.Context{context.Background(), expired} {
		_, err := client.ProviderVersions(ctx, addrs.MustParseProvider("registry.example.com/acme/alpha"))
		fmt.Println(provider.IsFault(err), errors.Is(err, context.DeadlineExceeded))
	}
	// Output:
	// true false
	// false true
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Patterns are as in the include and exclude lists of the CLI.
func ExampleParsePattern() {
	pattern, err := provider.ParsePattern("Registry.Example.com/acme/*")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pattern, pattern.Matches(addrs.MustParseProvider("registry.example.com/acme/alpha")))

	_, err = provider.ParsePattern("*/acme/*")
	fmt.Println(err)
	// Output:
	// registry.example.com/acme/* true
	// invalid provider pattern "*/acme/*": the parts after a star must be stars too
}

// A lock file for several platforms of a version. Without Stated, the h1 are computed. With it, the h1
// of all platforms are statements of the registry that no signature covers, and nothing is downloaded.
func ExampleHashes() {
	registry := regtest.New("registry.opentofu.org")
	registry.AddProvider(regtest.Provider{Address: "acme/demo", Version: "1.2.3", PackageHashes: true})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}

	demo := addrs.MustParseProvider("acme/demo")
	version := addrs.MustParseVersion("1.2.3")
	platforms := []addrs.Platform{addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64")}
	for _, o := range []provider.HashOptions{
		{},
		{Stated: true},
	} {
		reports, err := provider.Hashes(context.Background(), client, demo, version, platforms, o)
		if err != nil { // beside it there are the reports of the other platforms
			fmt.Println(err)
		}
		var lock lockfile.File
		computed := 0
		for _, report := range reports {
			computed += len(report.Local)
			if err := lock.Merge(demo, version, addrs.ProviderConstraint{}, report.Recordable()); err != nil {
				fmt.Println(err)
			}
		}
		entry, _ := lock.Get(demo)
		fmt.Println(len(reports), "platforms,", len(entry.Hashes), "hashes,", computed, "of them computed")
	}
	// Output:
	// 2 platforms, 10 hashes, 4 of them computed
	// 2 platforms, 10 hashes, 0 of them computed
}

// inventory is a Source with a list of its own, which opens the files of another source.
type inventory struct {
	provider.Source
	versions *provider.Versions
}

func (i inventory) ProviderVersions(context.Context, addrs.Provider) (*provider.Versions, error) {
	return i.versions.Clone(), nil
}

func (i inventory) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	if _, ok := i.versions.Find(v); !ok {
		return nil, i.versions.Unavailable(v, on)
	}
	return i.Source.ProviderPackage(ctx, p, v, on)
}

// A list of approved versions, in front of a registry.
func ExampleSource() {
	registry := regtest.New("registry.example.com") // instead of a real one
	for _, version := range []string{"1.0.0", "1.1.0"} {
		registry.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version})
	}
	client := &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}
	alpha, linux := addrs.MustParseProvider("registry.example.com/acme/alpha"), addrs.MustParsePlatform("linux_amd64")
	approved := &provider.Versions{Provider: alpha, Versions: []provider.Release{{Version: addrs.MustParseVersion("1.0.0")}}}
	src := provider.CheckAnswers(inventory{client, approved})

	ctx := context.Background()
	pkg, err := provider.Find(ctx, src, alpha, addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{linux}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pkg, pkg.Fits(provider.Need{}))
	_, err = src.ProviderPackage(ctx, alpha, addrs.MustParseVersion("1.1.0"), linux)
	fmt.Println(errors.Is(err, failure.ErrNoVersion))
	// Output:
	// registry.example.com/acme/alpha 1.0.0 linux_amd64 <nil>
	// true
}

// An installer fetches archives into files of its own. The packages of a version share one SHA256SUMS document.
func ExampleReceive() {
	registry := regtest.New("registry.example.com") // instead of a real one
	registry.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0", Platforms: []string{"darwin_arm64", "linux_amd64"}})
	src := provider.ShareEvidence(&regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}})

	ctx, policy := context.Background(), verify.Policy{}
	alpha, version := addrs.MustParseProvider("registry.example.com/acme/alpha"), addrs.MustParseVersion("1.0.0")
	for _, on := range []string{"darwin_arm64", "linux_amd64"} {
		pkg, err := src.ProviderPackage(ctx, alpha, version, addrs.MustParsePlatform(on))
		if err != nil {
			log.Fatal(err)
		}
		file, err := os.CreateTemp("", "example")
		if err != nil {
			log.Fatal(err)
		}
		defer os.Remove(file.Name())
		defer file.Close()
		received, err := provider.Receive(ctx, src, pkg, file, provider.ReceiveOptions{Policy: policy})
		if err != nil {
			log.Fatal(err)
		}
		report, err := received.Judge(ctx, policy, file, true)
		if err != nil {
			log.Fatal(err) // the file must not be unpacked
		}
		fmt.Println(pkg.Platform, report.Trust, len(report.Local), "hashes")
	}
	fmt.Println(registry.Count(regtest.Sums), "document")
	// Output:
	// darwin_arm64 signed 2 hashes
	// linux_amd64 signed 2 hashes
	// 1 document
}
