package mirrorclient_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// exampleMirror is a directory of static files, as a web server serves it.
func exampleMirror() fstest.MapFS {
	const dir = "providers/registry.example.com/acme/alpha/"
	archive := []byte("this stands for a zip archive")
	hash := checksum.ZHSum(sha256.Sum256(archive))
	return fstest.MapFS{
		dir + "index.json": {Data: []byte(`{"versions": {"1.1.0": {}, "1.2.0": {}, "2.0.0": {}}}`)},
		dir + "1.1.0.json": {Data: []byte(`{"archives": {"linux_amd64": {"url": "alpha_1.1.0_linux_amd64.zip"}}}`)},
		dir + "1.2.0.json": {Data: []byte(`{"archives": {"linux_amd64": {"url": "alpha_1.2.0_linux_amd64.zip", "hashes": ["` + hash.String() + `"]}}}`)},

		dir + "alpha_1.1.0_linux_amd64.zip": {Data: []byte("this stands for another one")},
		dir + "alpha_1.2.0_linux_amd64.zip": {Data: archive},
	}
}

// Find and download an archive with a hash that the mirror states. The mirror is in memory; omit
// HTTP to use a real one.
func Example() {
	mirror := &mirrorclient.Client{
		BaseURL:   "https://mirror.example.com/providers/",
		Transport: &transport.Settings{HTTP: &http.Client{Transport: http.NewFileTransportFS(exampleMirror())}},
	}
	ctx := context.Background()
	versions, err := mirror.ProviderVersions(ctx, addrs.MustParseProvider("registry.example.com/acme/alpha"))
	if err != nil {
		log.Fatal(err)
	}
	version, err := versions.Newest(addrs.MustParseProviderConstraint("~> 1.0"))
	if err != nil {
		log.Fatal(err)
	}
	pkg, err := mirror.ProviderPackage(ctx, versions.Provider, version, addrs.MustParsePlatform("linux_amd64"))
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	report, err := provider.Download(ctx, mirror, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.DownloadOptions{
		Policy: verify.Policy{AllowUnsigned: true}, // mirrors have no signatures
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pkg.ArchiveName())
	fmt.Println("trust:", report.Trust)
	// Output:
	// terraform-provider-alpha_1.2.0_linux_amd64.zip
	// trust: checked
}

// Choose the policy for a mirror. The zero policy accepts nothing from a mirror, and its error
// names the field to set.
func Example_policies() {
	mirror := &mirrorclient.Client{
		BaseURL:   "https://mirror.example.com/providers/",
		Transport: &transport.Settings{HTTP: &http.Client{Transport: http.NewFileTransportFS(exampleMirror())}},
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	locked := []checksum.Hash{checksum.ZHSum(sha256.Sum256([]byte("this stands for a zip archive")))}
	try := func(version string, policy verify.Policy) {
		ctx := context.Background()
		pkg, err := mirror.ProviderPackage(ctx, addrs.MustParseProvider("registry.example.com/acme/alpha"),
			addrs.MustParseVersion(version), addrs.MustParsePlatform("linux_amd64"))
		if err != nil {
			log.Fatal(err)
		}
		report, err := provider.Download(ctx, mirror, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.DownloadOptions{Policy: policy})
		switch {
		case errors.Is(err, verify.ErrUnsigned):
			fmt.Println(version, "has no signature")
		case errors.Is(err, verify.ErrUnchecked):
			fmt.Println(version, "has no hash")
		case err != nil:
			fmt.Println(err)
		default:
			fmt.Println(version, report.Trust)
		}
	}
	try("1.2.0", verify.Policy{})                                   // wants a signature
	try("1.2.0", verify.Policy{AllowUnsigned: true})                // believes the mirror's hashes
	try("1.2.0", verify.Policy{Accept: checksum.NewSet(locked...)}) // need not believe the mirror
	try("1.1.0", verify.Policy{AllowUnsigned: true})                // the mirror states no hash for it
	try("1.1.0", verify.Policy{AllowUnchecked: true})               // believes everything
	// Output:
	// 1.2.0 has no signature
	// 1.2.0 checked
	// 1.2.0 accepted
	// 1.1.0 has no hash
	// 1.1.0 unchecked
}

// Use a mirror that requires a token for documents and archives. The token is the one for the
// mirror's host and port. A command reads it from the environment with auth.Environ(os.Environ()),
// as the CLI does.
func ExampleClient_credentials() {
	files := http.NewFileTransportFS(exampleMirror())
	guarded := roundTripper(func(r *http.Request) (*http.Response, error) {
		fmt.Println(filepath.Base(r.URL.Path), r.Header.Get("Authorization") == "Bearer s3cr3t")
		return files.RoundTrip(r)
	})
	mirror := &mirrorclient.Client{
		BaseURL: "https://mirror.example.com:8443/providers/",
		Transport: &transport.Settings{
			HTTP:        &http.Client{Transport: guarded},
			Credentials: auth.MustNewToken("s3cr3t").For(svchost.MustParse("mirror.example.com:8443")),
			PackageCredentials: func(host svchost.Hostname, pkg *url.URL) bool {
				return pkg.Host == host.String()
			},
		},
	}
	ctx := context.Background()
	pkg, err := mirror.ProviderPackage(ctx, addrs.MustParseProvider("registry.example.com/acme/alpha"),
		addrs.MustParseVersion("1.2.0"), addrs.MustParsePlatform("linux_amd64"))
	if err != nil {
		log.Fatal(err)
	}
	body, err := mirror.Open(ctx, pkg)
	if err != nil {
		log.Fatal(err)
	}
	body.Close()
	// Output:
	// 1.2.0.json true
	// alpha_1.2.0_linux_amd64.zip true
}
