package s3_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/tofureg/tofureg/contrib/s3"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
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
