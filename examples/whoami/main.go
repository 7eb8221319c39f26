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
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/svchost"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "whoami:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, terminal io.Writer) error {
	if len(args) > 0 && args[0] == helperArgument {
		return answer(args[1:], out) // run as the helper of the sample configuration
	}
	system, names := cliconfig.Host(), args
	switch {
	case len(args) == 0:
		sample, dir, err := writeSample()
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		system, names = sample, sampleHosts
	case strings.HasPrefix(args[0], "-"):
		fmt.Fprintln(terminal, "usage: whoami [HOST...]")
		return flag.ErrHelp
	}
	cfg, err := cliconfig.Load(system)
	if err != nil {
		return err
	}
	for _, warning := range cfg.Warnings() {
		fmt.Fprintln(terminal, "warning:", warning)
	}
	for _, name := range names {
		host, err := svchost.Parse(name)
		if err != nil {
			return err
		}
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
