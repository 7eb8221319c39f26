package module_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

// client asks a registry in memory, instead of a real one. It has two modules.
var client = func() *regclient.Client {
	registry := regtest.New("registry.example.com")
	for _, version := range []string{"1.3.2", "1.4.0", "2.0.0-rc.1"} {
		files := map[string]string{"main.tf": "# empty\n", "modules/subnet/main.tf": "# empty\n"}
		registry.AddModule(regtest.Module{Address: "acme/vpc/aws", Version: version, Files: files})
		registry.AddModule(regtest.Module{Address: "acme/dns/aws", Version: version, Files: files})
	}
	return &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}
}()

func ExampleDownload() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	source := addrs.MustParseModuleSource("registry.example.com/acme/vpc/aws//modules/subnet")
	versions, err := client.ModuleVersions(ctx, source.Module)
	if err != nil {
		log.Fatal(err)
	}
	version, err := versions.Newest(addrs.MustParseModuleConstraint("~> 1.0"))
	if err != nil {
		log.Fatal(err)
	}
	report, err := module.Download(ctx, client, module.Request{Source: source, Version: version, Dir: filepath.Join(dir, "vpc")}, module.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Module, report.Version)
	fmt.Println("location:", report.Location)
	fmt.Println("hash:", report.H1)
	files, err := os.ReadDir(report.ModuleDir())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Subdir, "contains", files[0].Name())
	// Output:
	// registry.example.com/acme/vpc/aws 1.4.0
	// location: https://registry.example.com/packages/registry.example.com/acme/vpc/aws/1.4.0/vpc-1.4.0.tar.gz//modules/subnet
	// hash: h1:5uJkm06SVxF6XfAx3gmYAa3sijtdaX104fji5b+j4J8=
	// modules/subnet contains main.tf
}

// Repeated runs do not fetch the package again. A run that demands another h1 fails.
func ExampleOptions_replace() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	request := module.Request{
		Source:  addrs.MustParseModuleSource("registry.example.com/acme/vpc/aws"),
		Version: addrs.MustParseVersion("1.4.0"),
		Dir:     filepath.Join(dir, "vpc"),
	}
	o := module.Options{Replace: true}
	for range 2 {
		report, err := module.Download(context.Background(), client, request, o)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("reused:", report.Reused)
		request.H1 = report.H1 // if known, the package is not fetched again
	}
	request.H1 = checksum.MustParseHash("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
	_, err = module.Download(context.Background(), client, request, o)
	if errors.Is(err, checksum.ErrMismatch) {
		fmt.Println("the module has changed")
	}
	// Output:
	// reused: false
	// reused: true
	// the module has changed
}

func ExampleDownloadAll() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	var requests []module.Request
	for _, name := range []string{"vpc", "dns", "nothing"} {
		requests = append(requests, module.Request{
			Source:     addrs.MustParseModuleSource("registry.example.com/acme/" + name + "/aws"),
			Constraint: addrs.MustParseModuleConstraint(">= 1.0"),
			Dir:        filepath.Join(dir, name),
		})
	}
	results, err := module.DownloadAll(context.Background(), client, requests, module.Options{})
	for _, r := range results {
		if r.Err == nil {
			fmt.Println(r.Report.Module, r.Report.Version)
		}
	}
	fmt.Println(err)
	// Output:
	// registry.example.com/acme/vpc/aws 1.4.0
	// registry.example.com/acme/dns/aws 1.4.0
	// list versions of registry.example.com/acme/nothing/aws: https://registry.example.com/v1/modules/acme/nothing/aws/versions: HTTP status 404: not found, the server says "Not Found"
}

func ExampleParseAddress() {
	for _, text := range []string{"acme/vpc/aws//modules/subnet", "github.com/acme/vpc?ref=v1.4.0", "./subnet", "subnet"} {
		address, err := module.ParseAddress(text)
		switch {
		case err != nil:
			fmt.Println(err)
		case address.Path != "":
			fmt.Println("relative path:", address.Path)
		case address.Location != nil:
			fmt.Println("at a location:", address.Location)
		default:
			fmt.Println("for Download:", address.Registry)
		}
	}
	// Output:
	// for Download: registry.opentofu.org/acme/vpc/aws//modules/subnet
	// at a location: git::https://github.com/acme/vpc.git?ref=v1.4.0
	// relative path: ./subnet
	// invalid module source "subnet": it is neither a path that starts with ./ or ../, nor a module in a registry, nor a URL, nor one of the short forms; did you mean "./subnet"?
}

func ExampleParseLocation() {
	for _, text := range []string{
		"https://files.example.com/vpc.tar.gz//modules/subnet?X-Signature=0123456789",
		"git@github.com:acme/terraform-aws-vpc.git?ref=v1.4.0",
		"s3::https://s3-eu-west-1.amazonaws.com/modules/vpc.zip",
		"file:///etc",
	} {
		loc, err := module.ParseLocation(text)
		if err != nil {
			log.Fatal(err)
		}
		switch loc.Kind {
		case module.KindHTTP:
			fmt.Printf("a %s, the module is in %s\n", loc.Archive, loc.Subdir)
		case module.KindGit:
			fmt.Printf("%s of %s\n", loc.Ref, loc.URL)
		case module.KindLocal:
			fmt.Println("refused:", loc)
		default:
			fmt.Printf("needs a fetcher for %s: %s\n", loc.Kind, loc)
		}
	}
	// Output:
	// a tar.gz, the module is in modules/subnet
	// v1.4.0 of ssh://git@github.com/acme/terraform-aws-vpc.git
	// needs a fetcher for s3: s3::https://s3-eu-west-1.amazonaws.com/modules/vpc.zip
	// refused: file:///etc
}

// buckets is a Fetcher. A real one would fetch from S3, or call go-getter with loc.Source().
type buckets struct{}

func (buckets) FetchModule(_ context.Context, _ *module.Location, dir string, o module.Options) ([]string, error) {
	object := strings.NewReader("# from a bucket\n") // a Fetcher asks for it
	meter := progress.Meter{Report: o.Progress}
	meter.Start(object.Size())
	file, err := os.Create(filepath.Join(dir, "main.tf"))
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(file, io.TeeReader(object, &meter))
	if err = errors.Join(err, file.Close()); err == nil {
		meter.Finish()
	}
	return nil, err
}

// One Fetcher for each kind of location, such as those of contrib/oci and contrib/s3.
func ExampleFetchers() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	o := module.Options{Git: &module.Git{}, Fetcher: module.Fetchers{
		"s3": buckets{},
	}}
	for _, text := range []string{"s3::https://s3.amazonaws.com/modules/vpc.zip", "oci://registry.example.com/vpc"} {
		loc, err := module.ParseLocation(text)
		if err != nil {
			log.Fatal(err)
		}
		report, err := module.Download(context.Background(), client, module.Request{Location: loc, Dir: filepath.Join(dir, "vpc-"+string(loc.Kind))}, o)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(report.H1)
	}
	// Output:
	// h1:WRnY6VvzLQvr0OZEETG4LpfOOlW4TPPy6BTUdI0GIfg=
	// fetch oci://registry.example.com/vpc: a location of kind oci needs Options.Fetcher["oci"]
}

// A rule for the modules of a namespace.
func ExampleParsePattern() {
	own, err := module.ParsePattern("example.com/acme/*/*")
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range []string{"example.com/acme/network/aws", "example.com/other/network/aws"} {
		fmt.Println(m, own.Matches(addrs.MustParseModule(m)))
	}
	// Output:
	// example.com/acme/network/aws true
	// example.com/other/network/aws false
}
