package gcs_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/tofureg/tofureg/contrib/gcs"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
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
