// Module fetches a module from a registry, as its source and version stand in a
// configuration, and shows each step: which versions there are, which one is chosen,
// where its package is, and what is in it.
//
//	go run ./examples/module
//	go run ./examples/module -git -dir vpc terraform-aws-modules/vpc/aws '~> 5.0'
//
// Without arguments it asks a registry that is embedded in the program. With a module
// it asks the real registry of that module's host, with the tokens of TF_TOKEN_*
// variables. The public registries keep no packages, they answer with repositories at
// GitHub, for which -git must be given.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/module"
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
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, usage io.Writer) error {
	o, err := parseArgs(args, usage)
	if err != nil {
		return err
	}
	web := &transport.Client{Credentials: auth.Environ(os.Environ())}
	if o.embedded {
		web = &transport.Client{HTTP: embeddedRegistry(o.source.Module).Client()}
	}
	registry := &regclient.Client{Transport: web}

	wanted := "any release"
	if !o.constraint.IsZero() {
		wanted = o.constraint.String()
	}
	fmt.Fprintf(out, "module     %s, %s\n", o.source, wanted)
	versions, err := registry.ModuleVersions(ctx, o.source.Module)
	if err != nil {
		return err
	}
	for _, warning := range versions.Warnings {
		fmt.Fprintf(out, "warning    %s\n", warning)
	}
	version, err := versions.Newest(o.constraint)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "versions   %d listed, %s is the newest that fits\n", len(versions.List), version)

	location, err := registry.ModuleLocation(ctx, o.source.Module, version)
	if err != nil {
		return err
	}
	if location, err = location.WithSubdir(o.source.Subdir); err != nil {
		return err
	}
	fmt.Fprintf(out, "location   %s\n", location)
	fmt.Fprintf(out, "           %s\n", fields(location))

	dir := o.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "module-"); err != nil {
			return err
		}
	}
	report, err := module.DownloadLocation(ctx, registry, location, dir, module.Options{Git: o.git, Replace: o.replace})
	if err != nil {
		return explain(err)
	}
	if report.Reused {
		fmt.Fprintln(out, "unchanged  it was there already")
	}
	if report.Commit != "" {
		fmt.Fprintf(out, "commit     %s\n", report.Commit)
	}
	fmt.Fprintf(out, "hash       %s\n", report.H1)
	return list(out, report.ModuleDir())
}

// fields shows what a program can read off a location. The URL is left to the
// location's String method, which leaves out what may be secret.
func fields(l *module.Location) string {
	text := []string{"kind " + string(l.Kind)}
	for _, field := range []struct{ name, value string }{
		{"ref", l.Ref}, {"archive", string(l.Archive)}, {"checksum", l.Checksum},
		{"tag", l.Tag}, {"digest", l.Digest}, {"directory", l.Subdir},
	} {
		if field.value != "" {
			text = append(text, fmt.Sprintf("%s %q", field.name, field.value))
		}
	}
	return strings.Join(text, ", ")
}

// explain names the flag that would have helped.
func explain(err error) error {
	var unsupported *module.UnsupportedError
	switch {
	case errors.As(err, &unsupported) && unsupported.Kind == module.KindGit:
		return fmt.Errorf("%w; with -git, the git program fetches it", err)
	case errors.Is(err, module.ErrOccupied):
		return fmt.Errorf("%w; that is -replace here", err)
	}
	return err
}

// list prints what is in the directory of the module. Whoever wrote the module chose
// the names; %q keeps them from steering the terminal.
func list(out io.Writer, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "installed  %s\n", dir)
	for _, entry := range entries {
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			fmt.Fprintf(out, "directory  %q\n", entry.Name())
		default:
			fmt.Fprintf(out, "file       %q, %d bytes\n", entry.Name(), info.Size())
		}
	}
	return nil
}
