// Init prepares a directory with a configuration as "tofu init" does. It installs the modules and
// providers, writes the manifest of modules and the lock file. Then "tofu validate" and "terraform
// validate" work without another init.
//
//	go run . -dir path/to/configuration
//	go run . -dir path/to/configuration -terraform -plan
//
// It uses the user's CLI configuration and git. Modules and providers that are installed and locked
// need no request.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/workdir"
)

func main() { program.Main("init", run) }

const usage = "usage: init [-dir DIR] [-terraform] [-version VERSION] [-upgrade] [-plan] [-lock-modules] [-readonly]"

func run(ctx context.Context, args []string, out, terminal io.Writer) error {
	sys := cliconfig.Host()
	flags := flag.NewFlagSet("init", flag.ContinueOnError)
	dir := flags.String("dir", ".", "`directory` of the configuration")
	version := flags.String("version", "", "`version` of the CLI for required_version")
	upgrade := flags.Bool("upgrade", false, "select new versions")
	lock := flags.Bool("lock-modules", false, "lock modules too, in .tofureg.modules.lock")
	readOnly := flags.Bool("readonly", false, "write no lock file, and fail if one would change")
	plan := flags.Bool("plan", false, "print what would be done, and write nothing")
	flags.BoolVar(&sys.Terraform, "terraform", false, "follow the rules of Terraform instead of OpenTofu")
	err := program.Parse(flags, args, usage, terminal)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var cli addrs.Version
	if err == nil && *version != "" {
		cli, err = addrs.ParseVersion(*version)
	}
	if err != nil {
		return program.Wrong(usage, err)
	}
	config, err := cliconfig.Load(ctx, sys)
	if err != nil {
		return err
	}
	for _, warning := range config.Warnings() {
		fmt.Fprintf(terminal, "warning: %v\n", warning)
	}
	d := workdir.New(config, *dir)
	d.Environ, d.Version, d.Upgrade, d.LockModules, d.ReadOnly = sys.Environ, cli, *upgrade, *lock, *readOnly
	shown := &display{line: program.NewLine(terminal), bytes: program.Bytes{}}
	d.Modules.Progress, d.Installer.Progress = shown.module, shown.provider
	do := d.Prepare
	if *plan {
		do = d.Plan
	}
	result, err := do(ctx)
	shown.line.Clear()
	show(out, terminal, result)
	return err
}

// show prints what was done, or would be done.
func show(out, terminal io.Writer, r *workdir.Result) {
	for _, warning := range r.Warnings {
		fmt.Fprintf(terminal, "warning: %s\n", warning)
	}
	for _, m := range r.Modules {
		if m.Report != nil || m.Missing {
			fmt.Fprintf(out, "module    %s %s\n", m.Key, m.Version)
		}
	}
	if r.Providers == nil {
		return
	}
	for _, s := range r.Providers.Selections {
		if s.Err == nil && s.From != install.FromBuiltIn {
			fmt.Fprintf(out, "provider  %s %s\n", s.Provider, s.Version)
		}
	}
}

// display prints a line for each package that was fetched. If the output is a terminal, it also updates a last line
// with the progress.
type display struct {
	line               program.Line
	modules, providers int
	bytes              program.Bytes
}

func (d *display) module(e module.Event) {
	switch e.Kind {
	case module.EventBytes, module.EventRestarted:
		d.bytes.Set(e.Dir, e.Bytes, e.Total)
	case module.EventStored:
		d.modules++
		d.line.Print("fetched   %s\n", e.Location)
	}
	d.show()
}

func (d *display) provider(e provider.Event) {
	switch e.Kind {
	case provider.EventBytes, provider.EventRestarted:
		d.bytes.Set(e.Provider, e.Bytes, e.Total)
	case provider.EventInstalled:
		d.providers++
		d.line.Print("installed %s %s\n", e.Provider, e.Version)
	}
	d.show()
}

func (d *display) show() {
	d.line.Show("%d modules, %d providers, %s", d.modules, d.providers, d.bytes)
}
