// Lockcheck says whether a lock file suffices on three platforms.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

var platforms = []addrs.Platform{
	addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64"), addrs.MustParsePlatform("windows_amd64"),
}

// check returns 0 if the lock file suffices, 1 if not, and 2 if that is unknown.
func check(ctx context.Context, src provider.Source, path string) (code int) {
	lock, err := lockfile.LoadExisting(path)
	if err != nil {
		fmt.Println(err)
		return 2
	}
	list, err := install.CheckPlatforms(ctx, src, lock, platforms, nil)
	for _, c := range list {
		for _, on := range platforms {
			fmt.Println(c.Provider, c.Version, on, c.Platforms[on])
		}
		if !c.OK() {
			code = 1
		}
	}
	if err != nil {
		fmt.Println(err)
		code = 2
	}
	return code
}

func main() {
	ctx := context.Background()
	reg := regtest.New("registry.opentofu.org")
	reg.AddProvider(regtest.Provider{Address: "acme/all", Platforms: []string{"linux_amd64", "darwin_arm64", "windows_amd64"}})
	reg.AddProvider(regtest.Provider{Address: "acme/unix", Platforms: []string{"linux_amd64", "darwin_arm64"}})
	src := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
	for _, name := range []string{"acme/all", "acme/unix"} {
		dir, err := os.MkdirTemp("", "lockcheck")
		if err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, lockfile.Name)
		required := install.Requirements{addrs.MustParseProvider(name): addrs.ProviderConstraint{}}
		err = lockfile.Update(ctx, path, func(lock *lockfile.File) (*lockfile.File, error) {
			result, err := (&install.Installer{Source: src, LockPlatforms: platforms[:2]}).Lock(ctx, required, lock)
			return result.Lock, err
		})
		fmt.Println("exit", check(ctx, src, path), err)
	}
}

// Output:
// registry.opentofu.org/acme/all 1.0.0 linux_amd64 zh
// registry.opentofu.org/acme/all 1.0.0 darwin_arm64 zh
// registry.opentofu.org/acme/all 1.0.0 windows_amd64 zh
// exit 0 <nil>
// registry.opentofu.org/acme/unix 1.0.0 linux_amd64 zh
// registry.opentofu.org/acme/unix 1.0.0 darwin_arm64 zh
// registry.opentofu.org/acme/unix 1.0.0 windows_amd64 not built
// exit 1 <nil>
