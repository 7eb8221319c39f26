// Whoami prints where the token of a host comes from: a variable, a line of a file, or a
// credentials helper. It never prints a token.
//
//	go run ./examples/whoami
//	go run ./examples/whoami registry.example.com app.terraform.io
//
// With hosts, it reads the user's configuration. Without arguments, it reads a sample
// configuration, which it writes into a temporary directory.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/examples/program"
)

func main() { program.Main("whoami", run) }

const usage = "usage: whoami [HOST...]"

func run(ctx context.Context, args []string, out, terminal io.Writer) error {
	if len(args) > 0 && args[0] == helperArgument {
		return answer(args[1:], out) // run as the helper of the sample configuration
	}
	flags := flag.NewFlagSet("whoami", flag.ContinueOnError)
	if err := program.Parse(flags, args, usage, terminal); err != nil {
		return program.Wrong(usage, err)
	}
	system, names := cliconfig.Host(), flags.Args()
	if len(names) == 0 {
		sample, dir, err := writeSample()
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		system, names = sample, sampleHosts
	}
	var hosts []svchost.Hostname
	for _, name := range names {
		host, err := svchost.Parse(name)
		if err != nil {
			return program.Wrong(usage, err)
		}
		hosts = append(hosts, host)
	}
	cfg, err := cliconfig.Load(ctx, system)
	if err != nil {
		return err
	}
	for _, warning := range cfg.Warnings() {
		fmt.Fprintln(terminal, "warning:", warning)
	}
	for _, host := range hosts {
		fmt.Fprintf(out, "%-22s %s\n", host.Display(), explain(ctx, cfg, host))
	}
	return nil
}

// explain returns the place of the token of a host.
func explain(ctx context.Context, cfg *cliconfig.Config, host svchost.Hostname) string {
	from, found, err := cfg.TokenOrigin(ctx, host)
	switch {
	case err != nil:
		return err.Error()
	case !found && from == (cliconfig.Place{}):
		return "no token"
	case !found:
		return "no token, because of " + from.String()
	case from.File != "" && from.Line == 0:
		return "credentials helper " + filepath.Base(from.File)
	}
	return from.String()
}
