// Mirror adds providers for several platforms to a mirror in a directory, for machines without access
// to the registries.
//
//	go run ./examples/mirror
//	go run ./examples/mirror -dir /srv/mirror hashicorp/random 'hashicorp/aws@~> 6.0'
//
// Without arguments it uses a registry that is embedded in the program. With providers it uses their
// registries, with the tokens of TF_TOKEN_* variables. Run it again to update the mirror: existing
// archives are not downloaded again.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/transport"
)

func main() { program.Main("mirror", run) }

func run(ctx context.Context, args []string, out, terminal io.Writer) error {
	o, err := parseArgs(args, terminal)
	if err != nil {
		return program.Wrong(usage, err)
	}
	web := &transport.Settings{Credentials: auth.Environ(os.Environ())}
	if o.embedded {
		web = &transport.Settings{HTTP: embeddedRegistry(o).Client()}
	}
	registry := &regclient.Client{Transport: web}
	wants, err := choose(ctx, registry, o, out)
	if err != nil {
		return err
	}
	dir, err := makeDir(o.dir)
	if err != nil {
		return err
	}
	mirror, err := mirrordir.Open(dir)
	if err != nil {
		return err
	}
	display := newDisplay(terminal, len(wants)*len(o.platforms))
	added, err := mirror.Add(ctx, registry, wants, mirrordir.AddOptions{Progress: display.show})
	display.line.Clear()
	for _, a := range added {
		what := "kept "
		if a.Fetched {
			what = "added"
		}
		fmt.Fprintf(out, "%s    %s %s %s, %d bytes, %s\n", what, a.Provider, a.Version, a.Platform, a.Size, a.Report)
	}
	if err != nil {
		return err
	}
	explain(out, dir)
	return nil
}

// choose returns the newest version of each provider that has packages for all platforms.
func choose(ctx context.Context, registry provider.Lister, o options, out io.Writer) ([]mirrordir.Want, error) {
	var wants []mirrordir.Want
	for _, w := range o.providers {
		versions, err := registry.ProviderVersions(ctx, w.provider)
		if err != nil {
			return nil, err
		}
		version, err := versions.NewestFor(w.constraint, provider.Need{Platforms: o.platforms})
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "chosen   %s %s, of %d versions\n", w.provider, version, len(versions.List))
		wants = append(wants, mirrordir.Want{Provider: w.provider, Version: version, Platforms: o.platforms})
	}
	return wants, nil
}

// makeDir returns the directory of the mirror, and makes it if necessary.
func makeDir(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "mirror-")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// explain prints the CLI configuration for the mirror.
func explain(out io.Writer, dir string) {
	fmt.Fprintf(out, `
The mirror is in %s. To use it on this machine, add to ~/.tofurc or ~/.terraformrc:

provider_installation {
  filesystem_mirror {
    path = %q
  }
}

To use it on other machines, serve the directory over https and add:

provider_installation {
  network_mirror {
    url = "https://mirror.example.com/"
  }
}
`, dir, filepath.ToSlash(dir))
}
