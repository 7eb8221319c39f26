// Tofureg does the jobs of the packages of tofureg from a shell: it finds, locks, installs, mirrors, checks, publishes and
// serves providers and modules. It follows the CLI configuration of the user.
//
//	go run . find hashicorp/random 'hashicorp/aws@~> 6.0'
//	go run . init -dir path/to/configuration
//	go run . VERB -h
//
// With -json, each verb but serve prints one JSON document. The exit code is 0 after success, 1 after an error, 2 after an error in
// the arguments, and 3 if the answer is no: a check has found something, or a plan has work left.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/provider/install"
)

// A verb is one job of the program.
type verb struct {
	name, arguments, summary string
	examples                 [2]string
	run                      func(ctx context.Context, c *call) error
}

func verbs() []verb {
	return []verb{
		{"find", "[-module] ADDRESS[@CONSTRAINT]...", "print the newest versions", [2]string{"hashicorp/random", "-json 'hashicorp/aws@~> 6.0'"}, find},
		{"init", "[-plan]", "install the modules and providers of a configuration, as init of the CLI does", [2]string{"-dir path/to/configuration", "-terraform -plan"}, prepare},
		{"lock", "[PROVIDER[@CONSTRAINT]...]", "lock providers for several platforms", [2]string{"-platform linux_amd64 -platform darwin_arm64", "-lockfile new.hcl hashicorp/random"}, lock},
		{"mirror", "-to DIR [PROVIDER[@CONSTRAINT]...]", "copy providers into a mirror", [2]string{"-to /srv/mirror", "-to /srv/mirror -platform linux_amd64 'hashicorp/aws@~> 6.0'"}, mirror},
		{"check", "[-mirror DIR | -registry DIR -host HOST]", "check a lock file for platforms, or the files of a mirror or registry", [2]string{"-platform linux_amd64 -platform darwin_arm64", "-mirror /srv/mirror"}, check},
		{"keys", "[-within DURATION]", "print who signs the locked providers, and until when", [2]string{"", "-within 2160h -json"}, keys},
		{"publish", "-to DIR -host HOST -key FILE NAMESPACE DIST", "publish the releases in a directory of goreleaser as files of a registry", [2]string{"-to /srv/registry -host registry.example.com -key key.asc acme dist", "-to /srv/registry -host registry.example.com -module acme/network/aws@1.0.0 ./network"}, publish},
		{"serve", "-mirror DIR | -cache DIR | -registry DIR", "serve a mirror, a cache of registries or a registry of files", [2]string{"-cache /srv/cache -cert cert.pem -key key.pem", "-registry /srv/registry -host registry.example.com -cert cert.pem -key key.pem"}, serve},
	}
}

// errNo is the error of a verb that has done its job and has printed an answer that is no.
var errNo = errors.New("the answer is no")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], call{out: os.Stdout, terminal: os.Stderr, system: cliconfig.Host(), line: program.NewLine(os.Stderr)})
	stop()
	os.Exit(code(err, os.Stderr))
}

// code returns the exit code of an error, and prints the error.
func code(err error, terminal io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(terminal, "tofureg: %v\n", err)
	if usage, ok := errors.AsType[*program.UsageError](err); ok {
		fmt.Fprintln(terminal, usage.Usage)
		return 2
	}
	if errors.Is(err, errNo) {
		return 3
	}
	return 1
}

// run runs the verb in args.
func run(ctx context.Context, args []string, c call) error {
	for _, v := range verbs() {
		if len(args) > 0 && args[0] == v.name {
			c.verb, c.given, c.bytes, c.done = v, args[1:], received{}, map[transfer]bool{}
			return v.run(ctx, &c)
		}
	}
	usage := "usage: tofureg VERB [FLAGS] [ARGUMENTS]\n"
	for _, v := range verbs() {
		usage += fmt.Sprintf("\n  %-8s %s", v.name, v.summary)
	}
	if len(args) == 0 || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" {
		fmt.Fprintln(c.terminal, usage)
		return flag.ErrHelp
	}
	return program.Wrong(usage, fmt.Errorf("unknown verb %q", args[0]))
}

// A call is one run of a verb.
type call struct {
	verb          verb
	given         []string
	out, terminal io.Writer
	system        cliconfig.System
	http          *http.Client // if not nil, it makes all requests
	json          bool
	line          program.Line // the progress, the last line of a terminal
	bytes         received
	done          map[transfer]bool // packages
}

// flags returns the flags that all verbs have.
func (c *call) flags() *flag.FlagSet {
	flags := flag.NewFlagSet(c.verb.name, flag.ContinueOnError)
	flags.BoolVar(&c.json, "json", false, "print JSON")
	flags.BoolVar(&c.system.Terraform, "terraform", false, "follow the rules of Terraform instead of OpenTofu")
	return flags
}

// platforms adds a flag for platforms. Without it, the list has the platform of this program.
func platforms(flags *flag.FlagSet) *[]addrs.Platform {
	list := new([]addrs.Platform)
	flags.Func("platform", "`OS_ARCH`; can be repeated (default: the platform of this program)", func(s string) error {
		p, err := addrs.ParsePlatform(s)
		*list = append(*list, p)
		return err
	})
	return list
}

// hostFlag adds a flag for the host of a registry of files.
func hostFlag(flags *flag.FlagSet) *svchost.Hostname {
	host := new(svchost.Hostname)
	flags.Func("host", "`host` of the registry", func(s string) (err error) { *host, err = svchost.Parse(s); return err })
	return host
}

// parse parses the arguments: at least a minimum beside the flags, and at most a maximum unless it is negative.
func (c *call) parse(flags *flag.FlagSet, atLeast, atMost int) ([]string, error) {
	usage := fmt.Sprintf("usage: tofureg %s [FLAGS] %s\n\n  tofureg %s %s\n  tofureg %s %s", c.verb.name, c.verb.arguments, c.verb.name, c.verb.examples[0], c.verb.name, c.verb.examples[1])
	err := program.Parse(flags, c.given, usage+"\n", c.terminal)
	switch {
	case err != nil:
	case flags.NArg() < atLeast:
		err = errors.New("missing argument")
	case atMost >= 0 && flags.NArg() > atMost:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(atMost))
	}
	if err != nil {
		return nil, program.Wrong(usage, err)
	}
	return flags.Args(), nil
}

// wrong returns an error in the arguments.
func (c *call) wrong(err error) error {
	return program.Wrong(fmt.Sprintf("usage: tofureg %s [FLAGS] %s", c.verb.name, c.verb.arguments), err)
}

// config loads the configuration of the user and prints its warnings.
func (c *call) config(ctx context.Context) (*cliconfig.Config, error) {
	config, err := cliconfig.Load(ctx, c.system)
	if err == nil {
		config.HTTP = c.http
		for _, warning := range config.Warnings() {
			c.warn(warning)
		}
	}
	return config, err
}

func (c *call) warn(warning any) { c.line.Print("warning: %v\n", warning) }

// print prints a result as JSON, or by text.
func (c *call) print(result any, text func()) error {
	c.line.Clear()
	if !c.json {
		text()
		return nil
	}
	encoder := json.NewEncoder(c.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(result)
}

func (c *call) printf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

// requirements parses arguments PROVIDER[@CONSTRAINT].
func (c *call) requirements(args []string, config *cliconfig.Config) (install.Requirements, error) {
	want := install.Requirements{}
	for _, arg := range args {
		name, text, _ := strings.Cut(arg, "@")
		p, err := addrs.ParseProviderIn(config.DefaultHost(), name)
		if err != nil {
			return nil, c.wrong(err)
		}
		if want[p], err = addrs.ParseProviderConstraint(text); err != nil {
			return nil, c.wrong(err)
		}
	}
	return want, nil
}
