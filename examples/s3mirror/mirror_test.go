package main

import (
	"context"
	"io"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/tofureg/tofureg/addrs"
	store "github.com/tofureg/tofureg/contrib/s3"
	"github.com/tofureg/tofureg/examples/program/programtest"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) { programtest.Main(m, main) }

// TestArguments checks bad input, and how the program ends.
func TestArguments(t *testing.T) {
	t.Parallel()
	start := func(ctx context.Context, args []string, out, terminal io.Writer) error {
		return run(ctx, args, newRegistry(), testKey(), out, terminal)
	}
	programtest.Program{Name: "s3mirror", Run: start, Usage: map[string][]string{
		"missing -bucket":   {"add"},
		"want add PROVIDER": {"-bucket", "b"},
		"a/b/c/d":           {"-bucket", "b", "add", "a/b/c/d", "1.0.0"},
		"newest":            {"-bucket", "b", "add", "a/b", "newest"},
		"amiga":             {"-bucket", "b", "add", "a/b", "1.0.0", "amiga"},
		"-frob":             {"-frob"},
	}, Fails: map[string][]string{
		"nowhere": {"-bucket", "b", "serve", "nowhere"},
	}}.Test(t)
}

var (
	random = addrs.MustParseProvider("registry.example.com/acme/random")
	linux  = addrs.MustParsePlatform("linux_amd64")
)

func testKey() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("id", "secret", "")
}

func newRegistry() *regclient.Client {
	registry := regtest.New("registry.example.com")
	registry.AddProvider(regtest.Provider{
		Address: "acme/random", Version: "1.0.0", Platforms: []string{"linux_amd64", "darwin_arm64"},
	})
	return &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}
}

// TestMirror: a package goes from a registry into the bucket, and from there through the
// mirror protocol to a client.
func TestMirror(t *testing.T) {
	t.Parallel()
	backend := s3mem.New()
	check(t, backend.CreateBucket("mirror"))
	bucket := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(bucket.Close)
	for _, want := range []string{"added  ", "kept   "} {
		var out strings.Builder
		args := []string{"-endpoint", bucket.URL, "-http", "-bucket", "mirror", "add", random.String(), "1.0.0", "linux_amd64", "darwin_arm64"}
		check(t, run(t.Context(), args, newRegistry(), testKey(), &out, io.Discard))
		if got := out.String(); strings.Count(got, want) != 2 {
			t.Errorf("output is\n%swant 2 lines with %q", got, want)
		}
	}

	mirror := &mirrordir.Mirror{Store: &store.Store{Client: newClient(bucket.URL, "us-east-1", testKey()), Bucket: "mirror", AllowHTTP: true}}
	server := httptest.NewTLSServer(&mirrorserve.Handler{Source: mirror, Archive: mirror.ArchiveLink})
	t.Cleanup(server.Close)
	client := &mirrorclient.Client{BaseURL: server.URL, Transport: &transport.Settings{HTTP: server.Client(), AllowHTTP: true}}
	versions, err := client.ProviderVersions(t.Context(), random)
	if err != nil || len(versions.Versions) != 1 {
		t.Fatalf("versions %+v, %v", versions, err)
	}
	pkg, err := client.ProviderPackage(t.Context(), random, versions.Versions[0].Version, linux)
	check(t, err)
	path := filepath.Join(t.TempDir(), pkg.ArchiveName())
	_, err = provider.Download(t.Context(), client, pkg, path, provider.DownloadOptions{Policy: verify.Policy{AllowUnsigned: true}})
	check(t, err)

	// Who reads the bucket itself has the signature too: the zero policy accepts it.
	if pkg, err = mirror.ProviderPackage(t.Context(), random, versions.Versions[0].Version, linux); err != nil {
		t.Fatal(err)
	}
	report, err := provider.Download(t.Context(), mirror, pkg, filepath.Join(t.TempDir(), "x.zip"), provider.DownloadOptions{})
	if err != nil || report.SignedBy == nil {
		t.Errorf("from the bucket: %+v, %v", report, err)
	}
}

// check ends the test at an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
