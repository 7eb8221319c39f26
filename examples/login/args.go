package main

import (
	"errors"
	"flag"
	"io"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/examples/program"
)

// options are the values of the arguments.
type options struct {
	host     svchost.Hostname
	file     string // file for tokens, or "" for the store of the CLI
	browser  bool
	logout   bool
	embedded bool
}

const usage = "usage: login [-file FILE] [-browser] [-logout] [HOST]"

func parseArgs(args []string, terminal io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("login", flag.ContinueOnError)
	flags.StringVar(&o.file, "file", "", "store tokens in this `file` (default: the store of the CLI)")
	flags.BoolVar(&o.browser, "browser", false, "open the login page in a browser")
	flags.BoolVar(&o.logout, "logout", false, "forget the token of HOST")
	if err := program.Parse(flags, args, usage, terminal); err != nil {
		return o, err
	}
	name := "registry.example.com"
	switch flags.NArg() {
	case 0:
		o.embedded = true
	case 1:
		name = flags.Arg(0)
	default:
		return o, errors.New("expected at most one host")
	}
	if o.embedded && o.logout {
		return o, errors.New("-logout needs a host")
	}
	o.host, err = svchost.Parse(name)
	return o, err
}
