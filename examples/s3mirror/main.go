// S3mirror adds providers to a mirror in a bucket of an S3-compatible store, and serves the mirror to
// OpenTofu and Terraform.
//
//	s3mirror -bucket mirror add hashicorp/random 3.7.2 linux_amd64 darwin_arm64
//	s3mirror -bucket mirror serve localhost:8080
//
// See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	store "github.com/tofureg/tofureg/contrib/s3"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/transport"
)

func main() {
	registry := &regclient.Client{Transport: &transport.Settings{Credentials: auth.Environ(os.Environ())}}
	key := credentials.NewStaticCredentialsProvider(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN"))
	program.Main("s3mirror", func(ctx context.Context, args []string, out, terminal io.Writer) error {
		return run(ctx, args, registry, key, out, terminal)
	})
}

const usage = `usage: s3mirror [flags] add PROVIDER VERSION [OS_ARCH...]
       s3mirror [flags] serve ADDRESS`

func run(ctx context.Context, args []string, src provider.Source, key aws.CredentialsProvider, out, terminal io.Writer) error {
	flags := flag.NewFlagSet("s3mirror", flag.ContinueOnError)
	endpoint := flags.String("endpoint", "", "`URL` of the store (default: AWS)")
	allowHTTP := flags.Bool("http", false, "permits an endpoint at http, such as an emulator's")
	region := flags.String("region", "us-east-1", "`region` of the bucket")
	bucket := flags.String("bucket", "", "`name` of the bucket, which must exist")
	prefix := flags.String("prefix", "", "`prefix` of all keys, such as mirror/")
	if err := program.Parse(flags, args, usage, terminal); err != nil {
		return program.Wrong(usage, err)
	}
	if *bucket == "" {
		return program.Wrong(usage, errors.New("missing -bucket"))
	}
	mirror := &mirrordir.Mirror{Store: &store.Store{Client: newClient(*endpoint, *region, key), Bucket: *bucket, Prefix: *prefix, AllowHTTP: *allowHTTP}}
	switch {
	case flags.Arg(0) == "add" && flags.NArg() >= 3:
		return add(ctx, mirror, src, flags.Args()[1:], out)
	case flags.Arg(0) == "serve" && flags.NArg() == 2:
		return serve(ctx, mirror, flags.Arg(1), out)
	}
	return program.Wrong(usage, errors.New("want add PROVIDER VERSION [OS_ARCH...], or serve ADDRESS"))
}

// newClient returns a client of a store. Stores other than AWS commonly support neither buckets in host
// names nor the newer checksums.
func newClient(endpoint, region string, key aws.CredentialsProvider) *s3.Client {
	o := s3.Options{Region: region, Credentials: aws.NewCredentialsCache(key)}
	if endpoint != "" {
		o.BaseEndpoint, o.UsePathStyle = &endpoint, true
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}
	return s3.New(o)
}

func add(ctx context.Context, mirror *mirrordir.Mirror, src provider.Source, args []string, out io.Writer) error {
	var want mirrordir.Want
	var err error
	if want.Provider, err = addrs.ParseProvider(args[0]); err != nil {
		return program.Wrong(usage, err)
	}
	if want.Version, err = addrs.ParseVersion(args[1]); err != nil {
		return program.Wrong(usage, err)
	}
	for _, text := range args[2:] {
		platform, err := addrs.ParsePlatform(text)
		if err != nil {
			return program.Wrong(usage, err)
		}
		want.Platforms = append(want.Platforms, platform)
	}
	added, err := mirror.Add(ctx, src, []mirrordir.Want{want}, mirrordir.AddOptions{})
	for _, a := range added {
		what := "kept "
		if a.Fetched {
			what = "added"
		}
		fmt.Fprintf(out, "%s  %s %s %s, %d bytes, %s\n", what, a.Provider, a.Version, a.Platform, a.Size, a.Report)
	}
	return err
}

// serve serves the mirror over http. The CLI requires https: put it behind a server with a certificate. Clients get
// archives from the bucket, by signed URLs.
func serve(ctx context.Context, mirror *mirrordir.Mirror, address string, out io.Writer) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: &mirrorserve.Handler{Source: mirror, Archive: mirror.ArchiveLink}, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	fmt.Fprintf(out, "serving on http://%s/\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
