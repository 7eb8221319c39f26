// Quickstart is the main job of the SDK: from the name of a provider to an
// archive on disk whose bytes are proven by checksum and signature.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -dir plugins hashicorp/random '~> 3.6'
//
// Without arguments it asks a registry that is embedded in the program. With a
// provider it asks the real registry of that provider's host, with the tokens of
// TF_TOKEN_* variables. The archive lies in DIR as the OpenTofu CLI expects it in
// a filesystem mirror: `tofu init -plugin-dir=DIR` installs it from there.
package main

import (
	"archive/zip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, terminal io.Writer) error {
	o, err := parseArgs(args, terminal)
	if err != nil {
		return err
	}
	web := &transport.Client{Credentials: auth.Environ(os.Environ())}
	if o.embedded {
		web = &transport.Client{HTTP: embeddedRegistry(o.provider).Client()}
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
	// %q, because a server may write anything there, also what steers a terminal.
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
	fmt.Fprintf(out, "versions   %d listed, %s is the newest that fits\n", len(versions.List), version)

	pkg, err := registry.ProviderPackage(ctx, o.provider, version, o.platform)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "package    %s, signing keys listed: %d\n", pkg.ArchiveName(), len(pkg.Keys))

	return fetch(ctx, registry, pkg, o.dir, out, terminal)
}

// fetch puts the package below dir, "" for a temporary one, and tells what it is.
func fetch(ctx context.Context, src provider.Fetcher, pkg *provider.Package, dir string, out, terminal io.Writer) error {
	path, temp, err := place(dir, pkg)
	if err != nil {
		return err
	}
	display := newDisplay(terminal)
	report, err := provider.Download(ctx, src, pkg, path, provider.Options{Progress: display.show})
	display.clear()
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

// place makes the directory of the package and returns the file name in it, and the
// temporary directory that it is in, if there is one. All parts come from the parsed
// address, none from the registry.
func place(dir string, pkg *provider.Package) (path, temp string, err error) {
	p := pkg.Provider
	// The host may have a port, and the colon before it is not for file names there.
	if host := p.Host().Display(); runtime.GOOS == "windows" && strings.Contains(host, ":") {
		return "", "", fmt.Errorf("no directory can have the name %q on Windows, so no filesystem mirror can hold %s", host, p)
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

// list prints what the archive holds. It is verified, so its names are those that
// its publisher gave; %q keeps even those from steering the terminal.
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

// describe returns the constraint for people.
func describe(c addrs.ProviderConstraint) string {
	if c.IsZero() {
		return "any release"
	}
	return c.String()
}
