package cliconfig_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

var (
	alpha = addrs.MustParseProvider("registry.example.com/acme/alpha")
	beta  = addrs.MustParseProvider("registry.example.com/acme/beta")
	here  = addrs.CurrentPlatform()
)

// installation loads a configuration with a block provider_installation, for requests to reg.
func installation(t *testing.T, reg *regtest.Registry, block string, environ ...string) *cliconfig.Config {
	t.Helper()
	sys := home(t, map[string]string{".tofurc": "provider_installation {\n" + block + "}\n"})
	sys.Environ = environ
	cfg := load(t, sys)
	cfg.HTTP = reg.Client()
	return cfg
}

// get downloads the newest version of a provider with the policy of the CLI.
func get(t *testing.T, cfg *cliconfig.Config, p addrs.Provider) (*provider.Package, error) {
	t.Helper()
	src := cfg.ProviderSource()
	pkg, err := provider.Find(t.Context(), src, p, addrs.ProviderConstraint{}, provider.Need{})
	if err != nil {
		return nil, err
	}
	_, err = provider.Download(t.Context(), src, pkg, filepath.Join(t.TempDir(), "a.zip"), provider.DownloadOptions{Policy: cfg.Policy(p)})
	return pkg, err
}

// registryOf returns a registry with version 1.0.0 of each provider.
func registryOf(providers ...addrs.Provider) *regtest.Registry {
	reg := regtest.New("registry.example.com")
	for _, p := range providers {
		add(reg, p, nil)
	}
	return reg
}

// fillMirror adds a version of a provider from a registry to the mirror in dir.
func fillMirror(t *testing.T, dir string, client *http.Client, p addrs.Provider, version string) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o755))
	m := must.Get(mirrordir.Open(dir))(t)
	want := []mirrordir.Want{{Provider: p, Version: addrs.MustParseVersion(version)}}
	o := mirrordir.AddOptions{Policy: func(addrs.Provider) verify.Policy { return verify.Policy{AllowUnsigned: true} }}
	must.Get(m.Add(t.Context(), &regclient.Client{Transport: &transport.Settings{HTTP: client}}, want, o))(t)
}

func add(reg *regtest.Registry, p addrs.Provider, edit func(*regtest.Provider)) {
	release := regtest.Provider{Address: p.String(), Platforms: []string{here.String()}}
	if edit != nil {
		edit(&release)
	}
	reg.AddProvider(release)
}

const both = "network_mirror {\n  url = \"https://mirror.example.com/mirror/\"\n  include = [\"registry.example.com/acme/beta\"]\n}\ndirect {\n  exclude = [\"registry.example.com/acme/beta\"]\n}\n"

func TestMethods(t *testing.T) {
	t.Parallel()
	reg := registryOf(alpha, beta)
	cfg := installation(t, reg, both)
	for p, via := range map[addrs.Provider]string{alpha: "direct", beta: "network_mirror https://mirror.example.com/mirror/"} {
		pkg, err := get(t, cfg, p)
		if err != nil || pkg.Via[0] != via {
			t.Errorf("%s: %v, %v", p, pkg, err)
		}
	}
	src, registry, discovery, credentials := cfg.ProviderSource(), cfg.Registry(), cfg.Discovery(), cfg.Credentials()
	if cfg.ProviderSource() != src || cfg.Registry() != registry || cfg.Discovery() != discovery || cfg.Credentials() != credentials {
		t.Error("a second call returns another client")
	}
}

// TestOCI uses an OCI mirror with and without Config.OCI, and with one that fails. No other
// method is tried for its providers.
func TestOCI(t *testing.T) {
	t.Parallel()
	reg := registryOf(alpha, beta)
	const block = "oci_mirror {\n  repository_template = \"oci.example.com/acme/${type}\"\n  include = [\"registry.example.com/acme/*\"]\n}\ndirect {}\n"

	cfg := installation(t, reg, block)
	if _, err := get(t, cfg, alpha); err == nil || !strings.Contains(err.Error(), "this program does not support OCI mirrors") || errors.Is(err, failure.ErrNotFound) {
		t.Errorf("without a fetcher: %v", err)
	}
	if n := reg.Count(regtest.Archive); n != 0 {
		t.Errorf("%d archives were fetched", n)
	}

	broken := errors.New("the fetcher is broken")
	cfg = installation(t, reg, block)
	cfg.OCI = func(*cliconfig.Method) (provider.Source, error) { return nil, broken }
	if _, err := get(t, cfg, alpha); !errors.Is(err, broken) {
		t.Errorf("with a broken fetcher: %v", err)
	}

	cfg = installation(t, reg, block)
	cfg.OCI = func(*cliconfig.Method) (provider.Source, error) {
		return nil, fmt.Errorf("%w: no key for %w", broken, failure.ErrNoVersion)
	}
	_, versionsErr := cfg.ProviderSource().ProviderVersions(t.Context(), alpha)
	reg.Reset()
	_, packageErr := cfg.ProviderSource().ProviderPackage(t.Context(), alpha, addrs.MustParseVersion("1.0.0"), here)
	for _, err := range []error{versionsErr, packageErr} {
		if errors.Is(err, broken) || errors.Is(err, failure.ErrNotFound) || errors.Is(err, failure.ErrNoVersion) ||
			!strings.HasSuffix(err.Error(), ": no key for no such version") {
			t.Errorf("with a fetcher that does not find something: %v", err)
		}
	}
	if asked := reg.Requests(); len(asked) != 0 {
		t.Errorf("the registry was asked for the package: %v", asked)
	}

	cfg = installation(t, reg, strings.Replace(block, "acme/*", "acme/alpha", 1))
	asked := ""
	cfg.OCI = func(m *cliconfig.Method) (provider.Source, error) {
		asked += m.Repository(alpha)
		return &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}, nil
	}
	pkg, err := get(t, cfg, alpha)
	if err != nil || !strings.HasPrefix(pkg.Via[0], "oci_mirror") || asked != "oci.example.com/acme/alpha" {
		t.Errorf("with a fetcher: %v, %v, asked for %q", pkg, err, asked)
	}
	if pkg, err = get(t, cfg, beta); err != nil || pkg.Via[0] != "direct" {
		t.Errorf("another provider: %v, %v", pkg, err)
	}
}

// TestMethodsAreCopies changes what Methods returns.
func TestMethodsAreCopies(t *testing.T) {
	t.Parallel()
	cfg := installation(t, registryOf(), `network_mirror {
		url                  = "https://mirror.example.com/"
		include              = ["registry.example.com/acme/*"]
		exclude              = ["registry.example.com/acme/beta"]
		download_retry_count = 3
	}`)
	m := &cfg.Methods()[0]
	m.Include[0], m.Exclude[0] = provider.Pattern{}, provider.Pattern{}
	m = &cfg.Methods()[0]
	got := fmt.Sprint(m.Include, m.Exclude, m.DownloadRetries)
	const want = "[registry.example.com/acme/*] [registry.example.com/acme/beta] 3"
	if got != want {
		t.Errorf("Methods after a change of an earlier result: %s, want %s", got, want)
	}
}

// TestRepository has methods that do not come from Load, such as decoded ones.
func TestRepository(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method cliconfig.Method
		want   string
	}{
		{cliconfig.Method{Kind: "oci_mirror", Location: "oci.example.com/${namespace}/${ type }"}, "oci.example.com/acme/alpha"},
		{cliconfig.Method{Kind: "network_mirror", Location: "https://mirror.example.com/${type}/"}, ""},
		{cliconfig.Method{}, ""},
	} {
		if got := test.method.Repository(alpha); got != test.want {
			t.Errorf("Repository(%v) of %v: %q, want %q", alpha, &test.method, got, test.want)
		}
	}
}

// TestImplicit has an older version in an implicit directory: the registry is not used for
// this provider.
func TestImplicit(t *testing.T) {
	t.Parallel()
	reg := registryOf(alpha, beta)
	// A directory without packages does not exclude the registry.
	sys := home(t, map[string]string{"terraform.d/plugins/registry.example.com/acme/beta/README.md": ""})
	fillMirror(t, filepath.Join(sys.Home, "terraform.d", "plugins"), reg.Client(), alpha, "1.0.0")
	add(reg, alpha, func(p *regtest.Provider) { p.Version = "2.0.0" })
	cfg := load(t, sys)
	cfg.HTTP = reg.Client()
	pkg, err := get(t, cfg, alpha)
	if err != nil || !strings.HasPrefix(pkg.Via[0], "filesystem_mirror") || pkg.Version.String() != "1.0.0" {
		t.Errorf("%v, %v", pkg, err)
	}
	if pkg, err = get(t, cfg, beta); err != nil || pkg.Via[0] != "direct" {
		t.Errorf("%v, %v", pkg, err)
	}
	_, err = cfg.ProviderSource().ProviderPackage(t.Context(), alpha, addrs.MustParseVersion("2.0.0"), here)
	if !errors.Is(err, failure.ErrNotFound) {
		t.Errorf("a version that the directory does not have: %v", err)
	}
}

// TestImplicitGone removes an implicit directory while the configuration is in use, which is
// permitted, and replaces it by a file, which is an error.
func TestImplicitGone(t *testing.T) {
	t.Parallel()
	reg := registryOf(alpha)
	sys := home(t, map[string]string{"terraform.d/plugins/.keep": ""})
	cfg := load(t, sys)
	cfg.HTTP = reg.Client()
	dir := filepath.Join(sys.Home, "terraform.d", "plugins")
	must.Do(t, os.RemoveAll(dir))
	if pkg, err := get(t, cfg, alpha); err != nil || pkg.Via[0] != "direct" {
		t.Errorf("%v, %v", pkg, err)
	}
	must.Do(t, os.WriteFile(dir, nil, 0o600))
	if _, err := get(t, cfg, alpha); err == nil || errors.Is(err, failure.ErrNotFound) {
		t.Errorf("a file in place of the directory: %v", err)
	}
}

// TestMissingDirectory configures a missing directory: an error only for the providers that
// the method selects.
func TestMissingDirectory(t *testing.T) {
	t.Parallel()
	reg := registryOf(alpha, beta)
	cfg := installation(t, reg, "filesystem_mirror {\n  path = \"none\"\n  include = [\"registry.example.com/acme/beta\"]\n}\ndirect {}\n")
	if _, err := get(t, cfg, alpha); err != nil {
		t.Error(err)
	}
	if _, err := get(t, cfg, beta); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, failure.ErrNotFound) {
		t.Error(err)
	}
}

// TestRetries counts the requests for a document and for an archive.
func TestRetries(t *testing.T) {
	t.Parallel()
	for _, c := range casetest.Read[struct {
		Name, Rest          string
		Environ             []string
		Documents, Archives int
	}](t, "tables/retries.txt") {
		for _, method := range []string{"direct {\n", "network_mirror {\n  url = \"https://mirror.example.com/mirror/\"\n"} {
			t.Run(c.Name+" "+method[:6], func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					reg := registryOf(alpha)
					cfg := installation(t, reg, method+c.Rest, c.Environ...)
					reg.AddFault(regtest.Fault{Kind: regtest.Archive, Status: 503})
					if _, err := get(t, cfg, alpha); err == nil || reg.Count(regtest.Archive) != c.Archives {
						t.Errorf("%d requests for the archive, want %d: %v", reg.Count(regtest.Archive), c.Archives, err)
					}
					reg.Reset()
					const lists = regtest.Versions | regtest.MirrorIndex
					reg.AddFault(regtest.Fault{Kind: lists, Status: 503})
					want := c.Documents
					if method[:6] != "direct" {
						want = 1
					}
					if _, err := get(t, cfg, alpha); err == nil || reg.Count(lists) != want {
						t.Errorf("%d requests for the list, want %d: %v", reg.Count(lists), want, err)
					}
				})
			})
		}
	}
}

// TestUserAgent appends a variable to the default and to the program's own User-Agent.
func TestUserAgent(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"", "tool/1.0"} {
		reg := registryOf(alpha)
		cfg := installation(t, reg, "direct {}\n", "TF_APPEND_USER_AGENT=ci/2.0")
		cfg.UserAgent = own
		must.Get(get(t, cfg, alpha))(t)
		for _, q := range reg.Requests() {
			first := own
			if own == "" {
				first = "tofureg"
			}
			if !strings.HasPrefix(q.UserAgent, first) || !strings.HasSuffix(q.UserAgent, " ci/2.0") {
				t.Errorf("%s: %q", q, q.UserAgent)
			}
		}
	}
}

// TestNames has two equal methods.
func TestNames(t *testing.T) {
	t.Parallel()
	reg := registryOf(alpha)
	cfg := installation(t, reg, "filesystem_mirror {\n  path = \"a\"\n  include = [\"x/y\"]\n}\ndirect {\n  exclude = [\"registry.example.com/*/*\"]\n}\ndirect {}\n")
	pkg, err := get(t, cfg, alpha)
	if err != nil || pkg.Via[0] != "direct #2" {
		t.Errorf("%v, %v", pkg, err)
	}
}

// TestStatedHashes: lock files get the hashes that the default registry states where the CLI records
// them.
func TestStatedHashes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		environ   []string
		terraform bool
		want      bool
	}{
		"OpenTofu":            {want: false},
		"signatures demanded": {environ: []string{"OPENTOFU_ENFORCE_GPG_VALIDATION=true"}, want: true},
		"Terraform":           {terraform: true, want: true},
	} {
		sys := home(t, nil)
		sys.Environ, sys.Terraform = test.environ, test.terraform
		if got := load(t, sys).Policy(addrs.MustParseProvider("acme/alpha")).DropStated; got != test.want {
			t.Errorf("%s: DropStated = %v, want %v", name, got, test.want)
		}
	}
}

// TestVetoHost checks that all clients call VetoHost for each host that they contact.
func TestVetoHost(t *testing.T) {
	t.Parallel()
	for name, environ := range map[string][]string{
		"plain":                     nil,
		"other retries of archives": {"TF_PROVIDER_DOWNLOAD_RETRY=7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := regtest.New("registry.example.com")
			reg.Services = map[string]any{"providers.v1": "https://api.example.com/v1/providers/"}
			reg.Mirror.Origin = "https://cdn.example.com"
			for _, p := range []addrs.Provider{alpha, beta} {
				add(reg, p, func(p *regtest.Provider) { p.Origin = "https://files.example.com" })
			}
			cfg := installation(t, reg, both, environ...)
			var mu sync.Mutex
			var asked []string
			cfg.VetoHost = func(host string) error {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, host)
				return nil
			}
			for _, p := range []addrs.Provider{alpha, beta} {
				must.Get(get(t, cfg, p))(t)
			}
			must.Get(cfg.Registry().ProviderVersions(t.Context(), beta))(t)
			var contacted []string
			for _, q := range reg.Requests() {
				contacted = append(contacted, q.Host)
			}
			slices.Sort(asked)
			slices.Sort(contacted)
			asked = slices.Compact(asked) // also asked about a host whose services are cached
			contacted = slices.Compact(contacted)
			hosts := []string{"api.example.com", "cdn.example.com", "files.example.com", "mirror.example.com", "registry.example.com"}
			if !slices.Equal(asked, contacted) || !slices.Equal(contacted, hosts) {
				t.Errorf("asked about %v, contacted %v", asked, contacted)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		errVeto := errors.New("not this one")
		reg := regtest.New("registry.example.com")
		cfg := installation(t, reg, both)
		cfg.VetoHost = func(string) error { return errVeto }
		for _, p := range []addrs.Provider{alpha, beta} {
			if _, err := get(t, cfg, p); !errors.Is(err, errVeto) {
				t.Errorf("%s: %v, want the veto", p, err)
			}
		}
		if _, err := cfg.Discovery().Discover(t.Context(), alpha.Host()); !errors.Is(err, errVeto) || reg.Count(0) != 0 {
			t.Errorf("%v, want the veto; %d requests", err, reg.Count(0))
		}
	})
}
