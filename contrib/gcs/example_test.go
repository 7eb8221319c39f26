package gcs_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/gcs"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
)

// A company keeps its modules in one bucket. Programs get credentials from google.FindDefaultCredentials.
func ExampleFetcher() {
	credentials := &google.Credentials{TokenSource: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "ya29.token"})}
	options := module.Options{Fetcher: &gcs.Fetcher{Credentials: credentials, Buckets: func(bucket string) error {
		if bucket != "modules" {
			return fmt.Errorf("modules come from the bucket modules only")
		}
		return nil
	}}}
	loc, err := module.ParseLocation("gcs::https://www.googleapis.com/storage/v1/elsewhere/vpc.zip")
	if err != nil {
		log.Fatal(err)
	}
	_, err = module.Download(context.Background(), &regclient.Client{}, module.Request{Location: loc, Dir: filepath.Join(os.TempDir(), "module")}, options)
	fmt.Println(err)
	// Output: fetch gcs::https://www.googleapis.com/storage/v1/elsewhere/vpc.zip: modules come from the bucket modules only
}

// A module from a bucket, and a server of the mirror in another one.
func Example() {
	ctx, registry, dir := context.Background(), &regclient.Client{}, "network"
	source := addrs.MustParseModuleSource("registry.example.com/acme/network/google")

	var credentials *google.Credentials // from google.FindDefaultCredentials(ctx, gcs.ScopeWrite), golang.org/x/oauth2
	options := module.Options{Fetcher: &gcs.Fetcher{Credentials: credentials}}
	report, err := module.Download(ctx, registry, module.Request{Source: source, Dir: dir}, options)
	fmt.Println(report, err)

	store := &gcs.Store{Credentials: credentials, Bucket: "mirror"}
	mirror := &mirrordir.Mirror{Store: store}
	handler := &mirrorserve.Handler{Source: mirror, Archive: mirror.ArchiveLink} // archives by signed URLs
	log.Fatal(http.ListenAndServeTLS(":8443", "cert.pem", "key.pem", handler))
}
