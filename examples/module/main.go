// Module fetches a module from a registry and prints each step: the versions, the chosen
// version, the location of its package, and the files of the module.
//
//	go run ./examples/module
//	go run ./examples/module -git -dir vpc terraform-aws-modules/vpc/aws '~> 5.0'
//
// Without arguments it uses a registry in the program itself. With a module it uses the
// registry of the module's host, with the tokens of TF_TOKEN_* variables. The public
// registries name repositories at GitHub, which need -git.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
)

func main() { program.Main("module", run) }

func run(ctx context.Context, args []string, out, terminal io.Writer) error {
	o, err := parseArgs(args, terminal)
	if err != nil {
		return program.Wrong(usage, err)
	}
	web := &transport.Settings{Credentials: auth.Environ(os.Environ())}
	if o.embedded {
		web = &transport.Settings{HTTP: embeddedRegistry(o.source.Module).Client()}
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
	fmt.Fprintf(out, "versions   %d listed, %s is the newest match\n", len(versions.Versions), version)

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
	report, err := module.Download(ctx, registry, module.Request{Location: location, Dir: dir}, module.Options{Git: o.git, Replace: o.replace})
	if err != nil {
		return explain(err)
	}
	if report.Reused {
		fmt.Fprintln(out, "unchanged  the directory already has the package")
	}
	if report.Commit != "" {
		fmt.Fprintf(out, "commit     %s\n", report.Commit)
	}
	fmt.Fprintf(out, "hash       %s\n", report.H1)
	return list(out, report.ModuleDir())
}

// fields returns the fields of a location except the URL, which can contain secrets.
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

// explain adds the flag that would help.
func explain(err error) error {
	var unsupported *module.UnsupportedError
	switch {
	case errors.As(err, &unsupported) && unsupported.Kind == module.KindGit:
		return fmt.Errorf("%w; set -git to run the git program", err)
	case errors.Is(err, module.ErrOccupied):
		return fmt.Errorf("%w; set -replace to replace it", err)
	}
	return err
}

// list prints the files of the module. %q escapes control characters in their names.
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
