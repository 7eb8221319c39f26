package mirrorserve_test

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

func exampleRegistry() *regclient.Client {
	reg := regtest.New("registry.example.com")
	for _, version := range []string{"1.0.0", "1.1.0"} {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version})
	}
	return &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
}

// exampleDir returns a new directory.
func exampleDir() string {
	dir, err := os.MkdirTemp("", "mirror-")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

// Serve the packages of a registry to clients that trust this server and set AllowUnsigned.
func ExampleHandler() {
	handler := &mirrorserve.Handler{Source: exampleRegistry()}
	server := httptest.NewTLSServer(http.StripPrefix("/providers", handler))
	defer server.Close()

	ctx, dir := context.Background(), exampleDir()
	defer os.RemoveAll(dir)
	client := &mirrorclient.Client{BaseURL: server.URL + "/providers/", Transport: &transport.Settings{HTTP: server.Client()}}
	alpha := addrs.MustParseProvider("registry.example.com/acme/alpha")
	need := provider.Need{Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")}}
	pkg, err := provider.Find(ctx, client, alpha, addrs.ProviderConstraint{}, need)
	if err != nil {
		log.Fatal(err)
	}
	options := provider.DownloadOptions{Policy: verify.Policy{AllowUnsigned: true}}
	report, err := provider.Download(ctx, client, pkg, filepath.Join(dir, pkg.ArchiveName()), options)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pkg.Version, report.Trust)
	// Output: 1.1.0 checked
}

// Clients need a token. The first request for an archive is answered by the handler, later ones are
// redirected to the bucket in which the mirror stores it.
func ExampleHandler_bucket() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	mirror := &mirrordir.Mirror{Store: signingStore{&storage.Dir{Path: dir}}} // or a Store of contrib/s3
	handler := &mirrorserve.Handler{
		Source: &mirrorserve.Cache{
			Source:   exampleRegistry(),
			Mirror:   mirror,
			Patterns: provider.Patterns{Include: []provider.Pattern{provider.MustParsePattern("registry.example.com/acme/*")}},
		},
		Authorize: func(r *http.Request) error {
			if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer secret")) != 1 {
				return errors.New("unknown token")
			}
			return nil
		},
		Archive: mirror.ArchiveLink, // "" if the archive is not stored yet
	}
	for _, token := range []string{"", "Bearer secret", "Bearer secret"} {
		r := httptest.NewRequest(http.MethodGet, "/registry.example.com/acme/alpha/terraform-provider-alpha_1.1.0_linux_amd64.zip", nil)
		r.Header.Set("Authorization", token)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Printf("%d %q\n", w.Code, w.Header().Get("Location"))
	}
	// Output:
	// 401 ""
	// 200 ""
	// 302 "https://bucket.example.com/registry.example.com/acme/alpha/terraform-provider-alpha_1.1.0_linux_amd64.zip?signature=x"
}

// signingStore is a store whose files have signed URLs.
type signingStore struct{ storage.Store }

func (s signingStore) Unwrap() storage.Store { return s.Store }

func (signingStore) URL(_ context.Context, name string, _ time.Duration) (string, error) {
	return "https://bucket.example.com/" + name + "?signature=x", nil
}
