package s3_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/s3"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
)

// A company keeps its modules in an object store of its own.
func ExampleFetcher() {
	const store = "objects.example.com"
	options := module.Options{Fetcher: &s3.Fetcher{
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		Hosts: func(host string) error {
			if host != store {
				return fmt.Errorf("modules come from %s only", store)
			}
			return nil
		},
	}}
	loc, err := module.ParseLocation("s3::https://evil.example.com/bucket/module.zip")
	if err != nil {
		log.Fatal(err)
	}
	_, err = module.Download(context.Background(), &regclient.Client{}, module.Request{Location: loc, Dir: filepath.Join(os.TempDir(), "module")}, options)
	fmt.Println(err)
	// Output: fetch s3::https://evil.example.com/bucket/module.zip: the host is not permitted: "evil.example.com": modules come from objects.example.com only
}

// A module from S3, and a server of the mirror in a bucket.
func Example() {
	ctx, registry, dir := context.Background(), &regclient.Client{}, "network"
	source := addrs.MustParseModuleSource("registry.example.com/acme/network/aws")

	var config aws.Config // from LoadDefaultConfig of github.com/aws/aws-sdk-go-v2/config
	options := module.Options{Fetcher: &s3.Fetcher{Credentials: config.Credentials, Region: config.Region}}
	report, err := module.Download(ctx, registry, module.Request{Source: source, Dir: dir}, options)
	fmt.Println(report, err)

	store := &s3.Store{Client: awss3.NewFromConfig(config), Bucket: "mirror"}
	mirror := &mirrordir.Mirror{Store: store}
	handler := &mirrorserve.Handler{Source: mirror, Archive: mirror.ArchiveLink} // archives by signed URLs
	log.Fatal(http.ListenAndServeTLS(":8443", "cert.pem", "key.pem", handler))
}
