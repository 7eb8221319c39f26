//go:build unix

package install_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// Install the newest version that a constraint allows, find its program and start it.
func ExampleDir_Install() {
	registry := regtest.New("registry.example.com") // instead of a real one
	registry.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Zip: exampleArchive("terraform-provider-alpha_v1.2.0")})
	plugins, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(plugins)

	ctx := context.Background()
	source := &regclient.Client{Transport: &transport.Client{HTTP: registry.Client()}}
	need := provider.Need{Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")}}
	pkg, err := provider.Find(ctx, source, addrs.MustParseProvider("registry.example.com/acme/alpha"), addrs.MustParseProviderConstraint("~> 1.0"), need)
	if err != nil {
		log.Fatal(err)
	}
	dir := &install.Dir{Path: plugins}
	installed, err := dir.Install(ctx, source, pkg, install.Options{})
	if err != nil {
		log.Fatal(err)
	}
	path, err := installed.Executable()
	if err != nil {
		log.Fatal(err)
	}
	out, err := exec.CommandContext(ctx, path).Output()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s is %s and says: %s", pkg, installed.Report.Trust, out)
	// Output:
	// registry.example.com/acme/alpha 1.2.0 linux_amd64 is signed and says: ready
}

// exampleArchive returns an archive with a program.
func exampleArchive(name string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: name}
	header.SetMode(fs.FileMode(0o755))
	f, err := w.CreateHeader(header)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(f, "#!/bin/sh\necho ready\n")
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	return b.Bytes()
}
