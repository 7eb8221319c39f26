package cliconfig_test

import (
	"crypto/x509"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// A realCase is a configuration for the CLI and this package. {HOST} is the registry,
// {MIRROR} a server with a mirror and a registry, {DIR} a mirror directory.
type realCase struct {
	name   string
	only   string            // the CLI that supports the settings, or "" for both
	env    []string          // with {HOME} for the home directory
	main   string            // .terraformrc
	files  map[string]string // by paths in the home directory; the project is in "work"
	mirror string            // path of the mirror directory in the home directory
	want   string            // an expected request: server, kind and token
	none   bool              // no requests are expected

	// The CLI does not support mirrors for providers whose host has a port.
	portless bool // {HOST} is a name that only the mirror has

	official bool                    // {HOST} is the default registry, and {REGISTRY} the server
	edit     func(*regtest.Provider) // changes the package of the registry and the mirror
}

const helperConfig = "credentials_helper \"spy\" {\n  args = [\"x\"]\n}\n"
const helperProgram = "#!/bin/sh\n[ \"$2\" = get ] && echo '{\"token\":\"from-helper\"}'\n"
const helperPath = ".terraform.d/plugins/terraform-credentials-spy"

func credentials(host, token string) string {
	return fmt.Sprintf("credentials %q {\n  token = %q\n}\n", host, token)
}

var fromBlock = credentials("{HOST}", "from-block")

const fromJSON = `{"credentials": {"{HOST}": {"token": "from-json"}}}`

var realCases = []realCase{
	{name: "nothing", want: "registry discovery"},
	{name: "variable", env: []string{"TF_TOKEN_{HOST}=from-variable"}, want: "registry discovery Bearer from-variable"},
	{name: "block", main: fromBlock, want: "registry discovery Bearer from-block"},
	{name: "variable before block", env: []string{"TF_TOKEN_{HOST}=from-variable"}, main: fromBlock, want: "registry discovery Bearer from-variable"},
	{
		name: "directory before main file", main: fromBlock,
		files: map[string]string{
			".terraform.d/a.tfrc":                  credentials("{HOST}", "from-a"),
			".terraform.d/credentials.tfrc.json":   fromJSON,
			".terraform.d/ignored.json":            `{"credentials": {"{HOST}": {"token": "ignored"}}}`,
			".terraform.d/plugins/unrelated/a.txt": "",
		},
		want: "registry discovery Bearer from-json",
	},
	{name: "helper", main: helperConfig, files: map[string]string{helperPath: helperProgram}, want: "registry discovery Bearer from-helper"},
	{
		name: "helper of a version", main: helperConfig,
		files: map[string]string{helperPath: "#!/bin/sh\nexit 1\n", helperPath + "_v1.0.0": helperProgram},
		want:  "registry discovery Bearer from-helper",
	},
	{
		name: "helper with a dot", main: strings.Replace(helperConfig, "spy", "a.spy", 1),
		files: map[string]string{strings.Replace(helperPath, "spy", "a.spy", 1): helperProgram},
		want:  "registry discovery Bearer from-helper",
	},
	{
		name: "helper in capitals", main: strings.Replace(helperConfig, "spy", "SPY", 1),
		files: map[string]string{helperPath: helperProgram}, want: "registry discovery",
	},
	{
		name: "helper by a path", main: strings.Replace(helperConfig, "spy", "../spy", 1),
		files: map[string]string{helperPath: helperProgram, ".terraform.d/spy": helperProgram}, want: "registry discovery",
	},
	{
		name: "block without token before helper", main: helperConfig + "credentials \"{HOST}\" {}\n",
		files: map[string]string{helperPath: helperProgram}, want: "registry discovery",
	},
	{
		name: "named file", env: []string{"TF_CLI_CONFIG_FILE={HOME}/ci.tfrc"}, main: fromBlock,
		files: map[string]string{"ci.tfrc": "", ".terraform.d/credentials.tfrc.json": fromJSON}, want: "registry discovery",
	},
	{name: "missing named file", env: []string{"TF_CLI_CONFIG_FILE={HOME}/none.tfrc"}, main: fromBlock, want: "registry discovery"},
	{
		name: "network mirror", portless: true,
		main: "provider_installation {\n" + realMirror + "}\n" + fromBlock + credentials("{MIRROR}", "for-mirror"),
		want: "mirror mirror index Bearer for-mirror",
	},
	{
		name: "mirror for others",
		main: "provider_installation {\n  network_mirror {\n    url = \"https://{MIRROR}/mirror/\"\n    exclude = [\"{HOST}/*/*\"]\n  }\n" +
			"  direct {\n    include = [\"{HOST}/acme/*\"]\n  }\n}\n",
		want: "registry discovery",
	},
	{name: "filesystem mirror", none: true, main: "provider_installation {\n" + realDir + realNotDirect + "}\n"},
	{name: "implicit directory", mirror: ".terraform.d/plugins", none: true},
	{name: "directory of the project", mirror: "work/terraform.d/plugins", none: true},
	{name: "shared directory", mirror: "data/terraform/plugins", env: []string{"XDG_DATA_DIRS={HOME}/data"}, none: true},
	{
		name: "JSON", portless: true,
		files: map[string]string{
			".terraform.d/x.tfrc.json": `{"provider_installation": {"network_mirror": [{"url": "https://{MIRROR}/mirror/", "include": ["{HOST}/acme/alpha"]}], "direct": [{"exclude": ["{HOST}/*/*"]}]},
				"credentials": {"{MIRROR}": {"token": "for-mirror"}}}`,
		},
		want: "mirror mirror index Bearer for-mirror",
	},
	{
		name: "services", want: "mirror versions Bearer from-block",
		main: "host \"{HOST}\" {\n  services = {\n    \"providers.v1\" = \"https://{MIRROR}/v1/providers/\"\n  }\n}\n" + fromBlock,
	},
	{
		name: "places of OpenTofu", only: "terraform", env: []string{"XDG_CONFIG_HOME={HOME}/xdg", "XDG_DATA_HOME={HOME}/data"},
		files: map[string]string{
			".tofurc": credentials("{HOST}", "from-tofurc"), "xdg/opentofu/tofurc": credentials("{HOST}", "from-xdg"),
			"data/opentofu/plugins/{HOST}/acme/alpha/terraform-provider-alpha_0.1.0_linux_amd64.zip": "",
		},
		want: "registry discovery",
	},
	{
		name: "tofurc", only: "tofu", main: fromBlock,
		files: map[string]string{".tofurc": credentials("{HOST}", "from-tofurc")}, want: "registry discovery Bearer from-tofurc",
	},
	{
		name: "XDG", only: "tofu", env: []string{"XDG_CONFIG_HOME={HOME}/xdg"},
		files: map[string]string{"xdg/opentofu/tofurc": credentials("{HOST}", "from-xdg")}, want: "registry discovery Bearer from-xdg",
	},
}

// TestRealClient runs the CLI and this package with the same configurations and
// compares the requests: the installation methods and the tokens.
func TestRealClient(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the helper is a shell script, and Windows has other places")
	}
	for _, client := range []string{"terraform", "tofu"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(client)
			if err != nil {
				t.Skipf("skipped: %s is not installed", client)
			}
			for _, c := range realCases {
				if c.only == "" || c.only == client {
					t.Run(c.name, func(t *testing.T) {
						t.Parallel()
						compareReal(t, program, c)
					})
				}
			}
		})
	}
}

// world is the servers and the home directory of a case.
type world struct {
	registry, mirror *regtest.Registry
	http             *http.Client
	system           cliconfig.System
	alpha            addrs.Provider
	dir              string // of the project
}

func compareReal(t *testing.T, program string, c realCase) {
	w := newWorld(t, c)
	cfg := load(t, w.system)
	cfg.HTTP = w.http
	must.Get(get(t, cfg, w.alpha))(t)
	ours := w.seen()
	if _, out, err := w.init(t, program); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	theirs := w.seen()
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("-%s +tofureg\n%s", program, diff)
	}
	if c.none != (len(ours) == 0) || !c.none && !slices.Contains(ours, c.want) {
		t.Errorf("asked: %q, want %q", ours, c.want)
	}
}

func newWorld(t *testing.T, c realCase) *world {
	here := addrs.CurrentPlatform()
	w := &world{registry: regtest.New("registry.example.com"), mirror: regtest.New("mirror.example.com")}
	srv, second := serve(t, w.registry), serve(t, w.mirror)
	host := srv.Addr
	terraform := strings.Contains(t.Name(), "/terraform/")
	switch {
	case c.portless:
		host = "other.example.com"
	case c.official && terraform:
		host = "registry.terraform.io"
	case c.official:
		host = addrs.DefaultHost().String()
	}
	w.alpha = addrs.MustParseProvider(host + "/acme/alpha")
	release := regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Platforms: []string{here.String()}}
	if c.edit != nil {
		c.edit(&release)
	}
	w.registry.AddProvider(release)
	w.mirror.AddProvider(release)
	release.Address = w.alpha.String()
	w.mirror.AddProvider(release)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(srv.CertPEM)
	pool.AppendCertsFromPEM(second.CertPEM)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig.RootCAs, transport.Proxy = pool, nil
	t.Cleanup(transport.CloseIdleConnections)
	w.http = &http.Client{Transport: transport}

	home := t.TempDir()
	w.dir = filepath.Join(home, "work")
	must.Do(t, os.MkdirAll(w.dir, 0o755))
	at := filepath.Join(home, "mirror")
	if c.mirror != "" {
		at = filepath.Join(home, c.mirror)
	}
	fill := strings.NewReplacer("{HOST}", host, "{REGISTRY}", srv.Addr, "{MIRROR}", second.Addr, "{DIR}", at, "{HOME}", home)
	if c.none {
		fillMirror(t, at, w.http, w.alpha, "1.2.0")
		w.registry.Reset()
	}
	if c.main != "" {
		write(t, filepath.Join(home, ".terraformrc"), fill.Replace(c.main))
	}
	for name, text := range c.files {
		write(t, filepath.Join(home, fill.Replace(name)), fill.Replace(text))
	}
	p := terraformtest.Project{Dir: home}
	p.Trust(t, slices.Concat(srv.CertPEM, second.CertPEM))
	env := append(p.Env, "HOME="+home, "PATH="+os.Getenv("PATH"), "CHECKPOINT_DISABLE=1")
	for _, v := range c.env {
		env = append(env, fill.Replace(v))
	}
	w.system = cliconfig.System{Environ: env, Home: home, Dir: w.dir, Terraform: terraform}
	write(t, filepath.Join(w.dir, "main.tf"), fmt.Sprintf("terraform {\n  required_providers {\n    alpha = {\n      source = %q\n      version = \"1.2.0\"\n    }\n  }\n}\n", w.alpha))
	return w
}

func serve(t *testing.T, reg *regtest.Registry) *regtest.Server {
	t.Helper()
	srv := must.Get(reg.ServeTLS())(t)
	t.Cleanup(srv.Close)
	return srv
}

// seen returns the distinct requests since its last call.
func (w *world) seen() []string {
	set := map[string]bool{}
	for name, reg := range map[string]*regtest.Registry{"registry": w.registry, "mirror": w.mirror} {
		for _, q := range reg.Requests() {
			set[strings.TrimSpace(fmt.Sprintf("%s %s %s", name, q.Kind, q.Authorization))] = true
		}
		reg.Reset()
	}
	return slices.Sorted(maps.Keys(set))
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	// A process that is forked while the file is open for writing makes running it fail with
	// ETXTBSY.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	must.Do(t, os.WriteFile(path, []byte(text), 0o700))
	return path
}

var allCases = flag.Bool("cliconfig.all", false, "compare all configurations and SHA256SUMS documents with the real clients, not only every fourth")

// notCompared are the cases in which terraform and this package differ, with the reason.
var notCompared = map[string]string{
	"cache-file":                "terraform refuses a file as the plugin cache only when it installs",
	"helper-newest":             "terraform crashes on an invalid version of a helper",
	"token-json-null":           "terraform crashes if a token is an object",
	"install-oci":               "only OpenTofu has such mirrors",
	"install-oci-reserved-type": "only OpenTofu has such mirrors",
	"file-oci-twice":            "only OpenTofu has this setting",
	"oci-blocks":                "only OpenTofu has this setting",
	"oci-blocks-bad":            "only OpenTofu has this setting",
	"oci-json-bad":              "only OpenTofu has this setting",
	"oci-defaults-bad":          "only OpenTofu has this setting",
	"argument-twice":            "only OpenTofu refuses a repeated argument",
	"unlike-url":                "the comment of the package has it",
	"unlike-json":               "the comment of the package has it",
	"protocols-errors":          "only OpenTofu has these settings",
}

// TestRealErrors compares which configurations of testdata terraform and this package refuse.
func TestRealErrors(t *testing.T) {
	t.Parallel()
	compareErrors(t, "terraform", "*", func(i int, name string) bool {
		return notCompared[name] == "" && (i%4 == 0 || *allCases)
	})
}

// TestRealOCI compares which configurations with OCI credentials tofu and this package
// refuse.
func TestRealOCI(t *testing.T) {
	t.Parallel()
	compareErrors(t, "tofu", "oci-*", func(int, string) bool { return true })
}

// compareErrors compares which of the selected cases for Unix a CLI and this package refuse.
func compareErrors(t *testing.T, cli, pattern string, selected func(i int, name string) bool) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows has other places")
	}
	program, err := exec.LookPath(cli)
	if err != nil {
		t.Skipf("skipped: %s is not installed", cli)
	}
	paths, err := filepath.Glob("testdata/" + pattern + ".txt")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d cases, %v", len(paths), err)
	}
	for i, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		c := parseCase(t, string(must.Get(os.ReadFile(path))(t)))
		if c.system.GOOS != "linux" || c.system.Home != "/home/alice" || c.system.Terraform || !selected(i, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cliconfig.Load(t.Context(), c.system)
			if refused, said := c.refusedBy(t, program); refused != (err != nil) {
				t.Errorf("refused by %s: %v, Load: %v\n%s", program, refused, err, said)
			}
		})
	}
}

// refusedBy runs a CLI with the files of c, in a directory that stands for the root of the
// file system, and with .terraformrc instead of .tofurc.
func (c *testCase) refusedBy(t *testing.T, program string) (refused bool, said string) {
	t.Helper()
	dir := t.TempDir()
	move := []string{"/home/alice/.tofurc", dir + "/home/alice/.terraformrc"}
	for _, top := range []string{"/home/", "/project/", "/var/", "/etc/", "/xdg/", "/data/", "/opt/"} {
		move = append(move, `"`+top, `"`+dir+top, "="+top, "="+dir+top)
	}
	moved := strings.NewReplacer(move...)
	for file, text := range c.files {
		if strings.HasSuffix(file, "/") {
			file += "keep"
		}
		write(t, dir+strings.Replace(file, ".tofurc", ".terraformrc", 1), moved.Replace(text))
	}
	must.Do(t, os.MkdirAll(dir+"/project", 0o755))
	cmd := exec.Command(program, "version")
	cmd.Dir = dir + "/project"
	cmd.Env = []string{"HOME=" + dir + "/home/alice", "CHECKPOINT_DISABLE=1"}
	for _, v := range c.system.Environ {
		cmd.Env = append(cmd.Env, moved.Replace(v))
	}
	out, err := cmd.CombinedOutput()
	// This command reports errors and still succeeds.
	return err != nil || strings.Contains(string(out), "Error: "), string(out)
}
