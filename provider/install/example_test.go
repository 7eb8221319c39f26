package install_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Put a package of a shared cache into the directory of a project, if it has a locked hash.
func ExampleDir_Place() {
	ctx := context.Background()
	tmp := exampleCache()
	defer os.RemoveAll(tmp)
	cache := &install.Dir{Path: filepath.Join(tmp, "cache")}
	project := &install.Dir{Path: filepath.Join(tmp, "project")}
	alpha, version, linux := addrs.MustParseProvider("acme/alpha"), addrs.MustParseVersion("1.2.0"), addrs.MustParsePlatform("linux_amd64")
	locked := []checksum.Hash{checksum.MustParseHash("h1:IJ8vE7s6gzsYwPfrDfufVdwiYqfXzndFIWiFVR4Jtzw=")} // from the lock file
	found, err := cache.Lookup(ctx, alpha, version, linux, locked)
	if err != nil {
		log.Fatal(err)
	}
	placed, err := project.Place(ctx, found, true)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(placed, placed.Dir == project.PathOf(alpha, version, linux))
	// Output: registry.opentofu.org/acme/alpha 1.2.0 linux_amd64 true
}

// exampleCache returns a temporary directory with two packages in the directory "cache".
func exampleCache() string {
	tmp, err := os.MkdirTemp("", "example")
	for _, platform := range []string{"linux_amd64", "windows_amd64"} {
		dir := filepath.Join(tmp, "cache", "registry.opentofu.org", "acme", "alpha", "1.2.0", platform)
		err = errors.Join(err, os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "terraform-provider-alpha"), []byte("program"), 0o755))
	}
	if err != nil {
		log.Fatal(err)
	}
	return tmp
}
