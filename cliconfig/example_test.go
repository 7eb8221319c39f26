package cliconfig_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// exampleSystem returns a System with these files. Programs call [cliconfig.Host] instead.
func exampleSystem(files map[string]string, environ ...string) cliconfig.System {
	return cliconfig.System{GOOS: "linux", GOARCH: "amd64", Home: "/home/alice", Environ: environ, Open: fakeFiles(files)}
}

// Download a provider from the mirror that the user has configured, with the policy of the
// CLI.
func Example() {
	registry := regtest.New("registry.example.com")
	registry.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Platforms: []string{"linux_amd64"}})
	registry.Require("xxxxxx", regtest.MirrorIndex)

	cfg, err := cliconfig.Load(context.Background(), exampleSystem(map[string]string{
		"home/alice/.tofurc": `
			credentials "mirror.example.com" {
				token = "xxxxxx"
			}
			provider_installation {
				network_mirror {
					url = "https://mirror.example.com/mirror/"
				}
			}`,
	}))
	if err != nil {
		log.Fatal(err)
	}
	cfg.HTTP = registry.Client()

	ctx := context.Background()
	alpha := addrs.MustParseProvider("registry.example.com/acme/alpha")
	src := cfg.ProviderSource()
	need := provider.Need{Platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64")}}
	pkg, err := provider.Find(ctx, src, alpha, addrs.MustParseProviderConstraint("~> 1.0"), need)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	report, err := provider.Download(ctx, src, pkg, filepath.Join(dir, pkg.ArchiveName()), provider.DownloadOptions{Policy: cfg.Policy(alpha)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pkg, "is", report.Trust)
	fmt.Println("from", pkg.Via[0])
	// Output:
	// registry.example.com/acme/alpha 1.2.0 linux_amd64 is checked
	// from network_mirror https://mirror.example.com/mirror/
}

// Install providers as "tofu init" does, with the user's plugin cache and dev_overrides.
func ExampleConfig_Installer() {
	registry := regtest.New("registry.example.com")
	registry.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Platforms: []string{"linux_amd64"}})

	cfg, err := cliconfig.Load(context.Background(), exampleSystem(map[string]string{
		"home/alice/.tofurc": `
			plugin_cache_dir = "$HOME/.cache/tofu"
			provider_installation {
				dev_overrides {
					"registry.example.com/acme/beta" = "/home/alice/src/beta"
				}
				direct {}
			}`,
		"home/alice/.cache/tofu/.keep": "",
	}, "HOME=/home/alice"))
	if err != nil {
		log.Fatal(err)
	}
	cfg.HTTP = registry.Client()
	project, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(project)
	installer := cfg.Installer(filepath.Join(project, ".terraform", "providers"))
	installer.Cache.Path = filepath.Join(project, "cache") // the example does not write to the home directory
	installer.Platform = addrs.MustParsePlatform("linux_amd64")
	result, err := installer.Ensure(context.Background(), install.Requirements{
		addrs.MustParseProvider("registry.example.com/acme/alpha"): addrs.MustParseProviderConstraint("~> 1.0"),
		addrs.MustParseProvider("registry.example.com/acme/beta"):  {},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range result.Selections {
		fmt.Println(s.Provider, "from", s.From)
	}
	// Output:
	// registry.example.com/acme/alpha from source
	// registry.example.com/acme/beta from override
}

// Show where the token of a host comes from, without the token.
func ExampleConfig_TokenOrigin() {
	cfg, err := cliconfig.Load(context.Background(), exampleSystem(map[string]string{
		"home/alice/.tofurc":                            "credentials \"a.example.com\" {\n  token = \"xxxxxx\"\n}\n",
		"home/alice/.terraform.d/credentials.tfrc.json": `{"credentials": {"b.example.com": {"token": "yyyyyy"}}}`,
	}, "TF_TOKEN_c_example_com=zzzzzz"))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"a.example.com", "b.example.com", "c.example.com", "d.example.com"} {
		from, found, err := cfg.TokenOrigin(context.Background(), svchost.MustParse(name))
		fmt.Println(name, found, from, err)
	}
	// Output:
	// a.example.com true /home/alice/.tofurc:1:13 <nil>
	// b.example.com true /home/alice/.terraform.d/credentials.tfrc.json:1:18 <nil>
	// c.example.com true environment variable TF_TOKEN_c_example_com <nil>
	// d.example.com false default <nil>
}

// What a configuration says, for a program that explains it.
func ExampleConfig_Methods() {
	cfg, err := cliconfig.Load(context.Background(), exampleSystem(map[string]string{
		"home/alice/.tofurc": `
			provider_installation {
				network_mirror {
					url     = "https://mirror.example.com/"
					include = ["example.com/*/*"]
				}
				direct {}
			}
			module_installation {
				direct {
					cooldown_period = "7d"
				}
			}`,
	}, "TF_TOKEN_mirror_example_com=zzzzzz"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cfg.Files())
	for _, m := range cfg.Methods() {
		fmt.Println(m.Place, m.Kind, m.Location, m.Include)
	}
	if modules := cfg.ModuleCooldown(); modules != nil {
		fmt.Println("modules:", modules.Age)
	}
	token, err := cfg.Credentials().Token(context.Background(), svchost.MustParse("mirror.example.com"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(token)
	// Output:
	// [/home/alice/.tofurc]
	// /home/alice/.tofurc:3:5 network_mirror https://mirror.example.com/ [example.com/*/*]
	// /home/alice/.tofurc:7:5 direct  []
	// modules: 168h0m0s
	// [redacted]
}
