// Quickstart downloads a provider package and verifies it by its checksum and signature.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -dir plugins hashicorp/random '~> 3.6'
//
// Without arguments, it asks a registry in the program. With a provider, it asks the registry of
// the provider's host, with the tokens of TF_TOKEN_* variables. The archive is stored in DIR as
// in a filesystem mirror of the OpenTofu CLI: `tofu init -plugin-dir=DIR` installs it.
package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
)

func main() { program.Main("quickstart", run) }

func run(ctx context.Context, args []string, out, terminal io.Writer) error {
	o, err := parseArgs(args, terminal)
	if err != nil {
		return program.Wrong(usage, err)
	}
	web := &transport.Settings{Credentials: auth.Environ(os.Environ())}
	if o.embedded {
		web = &transport.Settings{HTTP: embeddedRegistry(o.provider).Client()}
	}
	discovery := &disco.Client{Transport: web, Hosts: new(disco.Hosts)}
	registry := &regclient.Client{Transport: web, Hosts: discovery.Hosts}

	fmt.Fprintf(out, "provider   %s, %s, for %s\n", o.provider, describe(o.constraint), o.platform)
	services, err := discovery.Discover(ctx, o.provider.Host())
	if err != nil {
		return err
	}
	base, err := services.URL(disco.ProvidersV1)
	if err != nil {
		return err
	}
	// %q, because the text is from a server and may contain terminal escapes.
	fmt.Fprintf(out, "services   %q; providers are at %s\n", services.IDs(), base.Redacted())

	versions, err := registry.ProviderVersions(ctx, o.provider)
	if err != nil {
		return err
	}
	for _, warning := range versions.Warnings {
		fmt.Fprintf(out, "warning    %s\n", warning)
	}
	version, err := versions.NewestFor(o.constraint, provider.Need{Platforms: []addrs.Platform{o.platform}})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "versions   %d listed, %s is the newest that fits\n", len(versions.Versions), version)

	pkg, err := registry.ProviderPackage(ctx, o.provider, version, o.platform)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "package    %s, signing keys listed: %d\n", pkg.ArchiveName(), len(pkg.Keys))

	return fetch(ctx, registry, pkg, o.dir, out, terminal)
}

// fetch stores the package below dir, or in a temporary directory, and describes it.
func fetch(ctx context.Context, src provider.Opener, pkg *provider.Package, dir string, out, terminal io.Writer) error {
	path, temp, err := place(dir, pkg)
	if err != nil {
		return err
	}
	display := newDisplay(terminal)
	report, err := provider.Download(ctx, src, pkg, path, provider.DownloadOptions{Progress: display.show})
	display.line.Clear()
	if err != nil {
		if temp != "" {
			err = errors.Join(err, os.RemoveAll(temp))
		}
		return err
	}
	fmt.Fprintf(out, "signature  %s, by key %s\n", report.Trust, report.SignedBy.Fingerprint)
	for _, hash := range report.Local {
		fmt.Fprintf(out, "hash       %s\n", hash)
	}
	return list(out, path)
}

// place creates the directory of the package. It returns the path of the archive and the temporary
// directory, if there is one. No part of the path is from the registry.
func place(dir string, pkg *provider.Package) (path, temp string, err error) {
	p := pkg.Provider
	// A host with a port contains a colon.
	if host := p.Host().Display(); runtime.GOOS == "windows" && strings.Contains(host, ":") {
		return "", "", fmt.Errorf("directory %q cannot exist on Windows, so a filesystem mirror cannot contain %s", host, p)
	}
	if dir == "" {
		if temp, err = os.MkdirTemp("", "quickstart-"); err != nil {
			return "", "", err
		}
		dir = temp
	}
	dir = filepath.Join(dir, p.Host().Display(), p.Namespace(), p.Type())
	return filepath.Join(dir, pkg.ArchiveName()), temp, os.MkdirAll(dir, 0o755)
}

// list prints the names in the archive. The archive is verified, but %q is safer.
func list(out io.Writer, path string) error {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer archive.Close()
	fmt.Fprintf(out, "installed  %s\n", path)
	for _, file := range archive.File {
		fmt.Fprintf(out, "file       %q, %d bytes\n", file.Name, file.UncompressedSize64)
	}
	return nil
}

// describe returns the constraint as text.
func describe(c addrs.ProviderConstraint) string {
	if c.IsZero() {
		return "any release"
	}
	return c.String()
}
