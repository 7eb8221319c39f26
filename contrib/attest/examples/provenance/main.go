// Provenance says for each provider of a lock file who signed it and from which repository it was built. See README.md.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/contrib/attest"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

func main() {
	program.Main("provenance", func(ctx context.Context, args []string, out, terminal io.Writer) error {
		return run(ctx, args, &transport.Settings{Credentials: auth.Environ(os.Environ())}, out, terminal)
	})
}

func run(ctx context.Context, args []string, web *transport.Settings, out, terminal io.Writer) (err error) {
	const usage = "usage: provenance [flags]"
	flags := flag.NewFlagSet("provenance", flag.ContinueOnError)
	file := flags.String("lockfile", lockfile.Name, "`path` of the lock file")
	root := flags.String("root", "", "`path` of a trusted root in JSON (default: fetched by TUF)")
	if err := program.Parse(flags, args, usage, terminal); err != nil {
		return program.Wrong(usage, err)
	}
	lock, err := lockfile.LoadExisting(*file)
	if err != nil {
		return err
	}
	v := &attest.Verifier{Rule: attest.OnGitHub, Bundles: &attest.GitHub{Transport: web}}
	if *root != "" {
		v.Root, err = os.ReadFile(*root)
	} else {
		v.Root, err = (&attest.TUF{Transport: web}).TrustedRoot(ctx)
	}
	if err != nil {
		return err
	}
	source := v.Source(&regclient.Client{Transport: web})
	for e := range lock.All() {
		fmt.Fprintf(out, "%s %s: %s\n", e.Provider, e.Version, strings.ReplaceAll(describe(ctx, v, source, lock, e), "\n", "; "))
	}
	return ctx.Err()
}

// describe looks up what is known of the locked archive for this platform, without downloading it.
func describe(ctx context.Context, v *attest.Verifier, source provider.Source, lock *lockfile.File, e lockfile.Entry) (said string) {
	pkg, err := source.ProviderPackage(ctx, e.Provider, e.Version, addrs.CurrentPlatform())
	if err != nil {
		return "unknown: " + err.Error()
	}
	ev, err := source.Evidence(ctx, pkg)
	if err != nil {
		return "unknown: " + err.Error()
	}
	for _, policy := range []verify.Policy{{RequireSignature: true}, {Provenance: v.Provenance(e.Provider)}} {
		policy.Accept = lock.Accept(e.Provider, e.Version)
		sums, failed := policy.CheckSums(ev)
		report, failed2 := sums.JudgeStated(ctx, ev)
		if err = cmp.Or(err, failed, failed2); failed == nil && failed2 == nil {
			said += ", " + strings.TrimPrefix(report.String(), "accepted by its hash, ")
		}
	}
	if said == "" {
		return "neither signed nor attested: " + err.Error()
	}
	return said[len(", "):]
}
