package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// world is a registry over TLS with three providers and a module.
func world(t *testing.T) *regtest.Server {
	t.Helper()
	r := regtest.New("registry.example.com")
	for _, v := range []string{"1.0.0", "1.2.0"} {
		r.AddProvider(regtest.Provider{Address: "acme/alpha", Version: v, Deflate: true})
	}
	r.AddProvider(regtest.Provider{Address: "acme/beta", Version: "2.0.0"})
	r.AddProvider(regtest.Provider{Address: "acme/linux", Version: "3.0.0", Platforms: []string{"linux_amd64"}})
	r.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.1.0", Files: map[string]string{"main.tf": "# empty\n"}})
	s, err := r.ServeTLS()
	check0(t, err)
	t.Cleanup(s.Close)
	return s
}

// tofureg runs the program in a directory and returns its output and its exit code.
func tofureg(t *testing.T, s *regtest.Server, dir string, args ...string) (out, terminal string, exit int) {
	t.Helper()
	var o, e bytes.Buffer
	c := call{out: &o, terminal: &e, line: program.Line{W: &e}}
	c.system = cliconfig.System{Home: t.TempDir(), Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH")}}
	if s != nil {
		c.http = s.Client()
	}
	exit = code(run(t.Context(), args, c), &e)
	return o.String(), e.String(), exit
}

func check0(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestArguments: each verb has a usage with two examples, and says what is wrong with its arguments.
func TestArguments(t *testing.T) {
	t.Parallel()
	for _, v := range verbs() {
		_, terminal, exit := tofureg(t, nil, t.TempDir(), v.name, "-h")
		if n := strings.Count(terminal, "\n  tofureg "+v.name); exit != 0 || n != 2 || !strings.HasPrefix(terminal, "usage: tofureg "+v.name+" ") {
			t.Errorf("%s -h: code %d, %d examples:\n%s", v.name, exit, n, terminal)
		}
		_, terminal, exit = tofureg(t, nil, t.TempDir(), v.name, "-nope")
		if exit != 2 || !strings.HasPrefix(terminal, "tofureg: flag provided but not defined: -nope\nusage: tofureg "+v.name+" ") {
			t.Errorf("%s -nope: code %d:\n%s", v.name, exit, terminal)
		}
	}
	for _, test := range []struct {
		args string
		exit int
		text string
	}{
		{"", 0, "usage: tofureg VERB"},
		{"-h", 0, "usage: tofureg VERB"},
		{"nope", 2, `unknown verb "nope"`},
		{"find", 2, "missing argument"},
		{"find a/b/c/d/e", 2, `"a/b/c/d/e"`},
		{"find acme/alpha@x", 2, `"x"`},
		{"find -platform x acme/alpha", 2, `"x"`},
		{"init here", 2, `unexpected argument "here"`},
		{"init -version x", 2, `"x"`},
		{"init -dir missing", 1, "missing"},
		{"mirror", 2, "-to is missing"},
		{"publish acme dist", 2, "-to or -host is missing"},
		{"publish -to x -host registry.example.com acme", 2, "missing argument DIST"},
		{"serve", 2, "is missing"},
	} {
		_, terminal, exit := tofureg(t, nil, t.TempDir(), strings.Fields(test.args)...)
		if exit != test.exit || !strings.Contains(terminal, test.text) {
			t.Errorf("tofureg %s: code %d, want %d:\n%swant %s", test.args, exit, test.exit, terminal, test.text)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	s := world(t)
	out, terminal, exit := tofureg(t, s, t.TempDir(), "find", "-json", s.Addr+"/acme/alpha@< 1.2", s.Addr+"/acme/beta")
	var list []found
	if err := json.Unmarshal([]byte(out), &list); exit != 0 || err != nil || len(list) != 2 || list[0].Package.Version.String() != "1.0.0" {
		t.Errorf("find: code %d, %v\n%s%s", exit, err, out, terminal)
	}
	out, terminal, exit = tofureg(t, s, t.TempDir(), "find", "-module", strings.Replace(s.Addr, "localhost", "127.0.0.1", 1)+"/acme/network/aws")
	if exit != 0 || !strings.Contains(out, "acme/network/aws 1.1.0\n") {
		t.Errorf("find -module: code %d\n%s%s", exit, out, terminal)
	}
	if out, terminal, exit = tofureg(t, s, t.TempDir(), "find", s.Addr+"/acme/nothing", s.Addr+"/acme/beta"); exit != 1 || !strings.Contains(out, "beta 2.0.0") || !strings.Contains(terminal, "acme/nothing") {
		t.Errorf("find of a missing provider: code %d\n%s%s", exit, out, terminal)
	}
}

// client is the real tofu in a directory with a configuration.
type client struct {
	dir string
	env []string
}

func newClient(t *testing.T, s *regtest.Server) *client {
	t.Helper()
	if _, err := exec.LookPath("tofu"); err != nil {
		t.Skip("skipped: tofu is not installed")
	}
	if runtime.GOOS != "linux" {
		t.Skip("skipped: SSL_CERT_FILE has an effect on linux")
	}
	c := &client{dir: t.TempDir()}
	authority, rc := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "rc")
	check0(t, os.WriteFile(authority, s.CertPEM, 0o600))
	check0(t, os.WriteFile(rc, nil, 0o600))
	c.env = []string{"SSL_CERT_FILE=" + authority, "TF_CLI_CONFIG_FILE=" + rc, "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	return c
}

func (c *client) run(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "tofu", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tofu %s: %v\n%s", args, err, out)
	}
}

// files returns the files of a directory by name, and the targets of links, without those that only one of the programs has.
func files(t *testing.T, dir string, without ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	check0(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || e.IsDir() || slices.ContainsFunc(without, func(s string) bool { return strings.Contains(name, s) }) {
			return err
		}
		data, err := os.ReadFile(path)
		if found[name] = string(data); strings.HasSuffix(name, ".json") {
			found[name] = canonical(data)
		}
		return err
	}))
	return found
}

var h1s = regexp.MustCompile(`"h1:[^"]*",`)

// canonical returns JSON without the member of this module and without h1, whatever its spaces.
func canonical(data []byte) string {
	var v map[string]any
	if json.Unmarshal(data, &v) != nil {
		return string(data)
	}
	delete(v, "tofureg")
	text, _ := json.Marshal(v)
	return h1s.ReplaceAllString(string(text), "") // tofu states zh alone
}

// TestBesideTheCLI: init, lock and mirror write the files that the CLI writes.
func TestBesideTheCLI(t *testing.T) {
	t.Parallel()
	s := world(t)
	theirs, ours := newClient(t, s), t.TempDir()
	numbered := strings.Replace(s.Addr, "localhost", "127.0.0.1", 1)
	text := fmt.Sprintf(`terraform {
  required_providers {
    alpha = { source = "%[1]s/acme/alpha", version = "~> 1.0" }
    beta  = { source = "%[1]s/acme/beta" }
  }
}
module "net" {
  source  = "%[2]s/acme/network/aws"
  version = "1.1.0"
}
`, s.Addr, numbered)
	for _, dir := range []string{theirs.dir, ours} {
		check0(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600))
	}
	do := func(want int, args ...string) string {
		t.Helper()
		out, terminal, exit := tofureg(t, s, ours, args...)
		if exit != want {
			t.Fatalf("tofureg %s: code %d, want %d\n%s%s", args, exit, want, out, terminal)
		}
		return out
	}
	same := func(job, a, b string, without ...string) {
		t.Helper()
		got, want := files(t, a, without...), files(t, b, without...)
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s: %s is\n%.2000s\nwant that of tofu\n%.2000s", job, name, got[name], want[name])
			}
		}
		for name := range got {
			if _, ok := want[name]; !ok {
				t.Errorf("%s: tofu does not write %s", job, name)
			}
		}
	}

	if out := do(3, "init", "-dir", ours, "-plan"); !strings.Contains(out, "provider  "+s.Addr+"/acme/alpha 1.2.0") || !strings.Contains(out, "module    net") {
		t.Errorf("init -plan prints\n%s", out)
	}
	theirs.run(t, "init", "-no-color")
	cache := filepath.Join(t.TempDir(), "cache")
	do(0, "init", "-dir", ours, "-module-cache", cache)
	if packages, err := os.ReadDir(filepath.Join(cache, "packages")); err != nil || len(packages) != 1 {
		t.Errorf("init -module-cache leaves %v, %v in the cache; want the package of the module", packages, err)
	}
	same("init", ours, theirs.dir, ".lock", ".tofureg")
	do(0, "init", "-dir", ours, "-plan")

	platforms := []string{"-platform=linux_amd64", "-platform=darwin_arm64", "-platform=windows_amd64"}
	theirs.run(t, append([]string{"providers", "lock"}, platforms...)...)
	do(0, append([]string{"lock", "-dir", ours}, platforms...)...)
	same("lock", ours, theirs.dir, ".lock", ".tofureg")

	to := [2]string{t.TempDir(), t.TempDir()}
	theirs.run(t, append(append([]string{"providers", "mirror"}, platforms...), to[1])...)
	do(0, append([]string{"mirror", "-dir", ours, "-to", to[0]}, platforms...)...)
	same("mirror", to[0], to[1], "record_", ".lock", ".tofureg")
	do(0, "check", "-mirror", to[0])
	check0(t, os.Remove(one(t, filepath.Join(to[0], "*", "acme", "beta", "*linux_amd64.zip"))))
	if out := do(3, "check", "-mirror", to[0]); !strings.Contains(out, "missing") {
		t.Errorf("check of a mirror without an archive prints\n%s", out)
	}
}

func one(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) != 1 {
		t.Fatalf("%s: %q, %v, want one file", pattern, names, err)
	}
	return names[0]
}

// TestKeys: a key that ends soon is found.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := world(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "lock.hcl")
	if _, terminal, exit := tofureg(t, s, dir, "lock", "-lockfile", file, s.Addr+"/acme/alpha", s.Addr+"/acme/beta"); exit != 0 {
		t.Fatalf("lock: code %d\n%s", exit, terminal)
	}
	out, terminal, exit := tofureg(t, s, dir, "keys", "-lockfile", file)
	if exit != 0 || strings.Count(out, "signed by ") != 2 {
		t.Errorf("keys: code %d\n%s%s", exit, out, terminal)
	}
	var list []signer
	out, _, _ = tofureg(t, s, dir, "keys", "-json", "-lockfile", file)
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 2 || list[0].Check.SignedBy == nil {
		t.Errorf("keys -json: %v\n%s", err, out)
	}
}

// TestCheck: a provider that fails does not hide what is found about the others.
func TestCheck(t *testing.T) {
	t.Parallel()
	s := world(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "lock.hcl")
	text := fmt.Sprintf("provider %q {\n  version = \"1.0.0\"\n  hashes = [\n    \"zh:%064d\",\n  ]\n}\n\nprovider %q {\n  version = \"1.0.0\"\n}\n", s.Addr+"/acme/alpha", 0, s.Addr+"/acme/gone")
	check0(t, os.WriteFile(file, []byte(text), 0o600))
	out, terminal, exit := tofureg(t, s, dir, "check", "-lockfile", file, "-platform", "linux_amd64")
	if _, _, code := tofureg(t, s, dir, "check"); code != 1 {
		t.Errorf("check without a lock file: code %d, want 1", code)
	}
	if exit != 1 || !strings.Contains(out, "missing: "+s.Addr+"/acme/alpha 1.0.0 linux_amd64") || !strings.Contains(terminal, "acme/gone") {
		t.Errorf("check with a missing provider: code %d\n%s%s", exit, out, terminal)
	}
}

// TestProgress: the last line of a terminal shows packages and bytes.
func TestProgress(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &call{line: program.Line{W: &out, Terminal: true}, bytes: received{}, done: map[transfer]bool{}}
	c.step(progress.Event{Kind: progress.Bytes, Dir: "m", Bytes: 5e5})
	c.step(progress.Event{Kind: progress.Stored, Dir: "m"})
	c.step(progress.Event{Kind: progress.Verified})
	c.step(progress.Event{Kind: progress.Installed})
	const clear = "\r\x1b[K"
	if want := clear + "0 packages, 0.5 of 0.5 MB" + clear + "1 packages, 0.5 of 0.5 MB" + clear + "2 packages, 0.5 of 0.5 MB" + clear + "2 packages, 0.5 of 0.5 MB"; out.String() != want {
		t.Errorf("the terminal has\n%q, want\n%q", &out, want)
	}
}

// TestInterrupted: a verb ends with its context.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := world(t)
	c := call{out: &bytes.Buffer{}, terminal: &bytes.Buffer{}, http: s.Client()}
	if err := run(ctx, []string{"find", s.Addr + "/acme/alpha"}, c); !errors.Is(err, context.Canceled) || errors.Is(err, flag.ErrHelp) {
		t.Errorf("find after an interrupt: %v, want %v", err, context.Canceled)
	}
}

// TestPublish: the releases of goreleaser and a module become a registry, which check accepts until a file is missing.
func TestPublish(t *testing.T) {
	t.Parallel()
	dist, to := t.TempDir(), t.TempDir()
	key := regtest.NewKey(regtest.KeyOptions{})
	reg := regtest.New("registry.example.com")
	for _, v := range []string{"1.0.0", "1.1.0"} {
		release := reg.AddProvider(regtest.Provider{Address: "acme/demo", Version: v, Platforms: []string{"linux_amd64", "darwin_arm64"}, Keys: []*regtest.Key{key}})
		for _, on := range []string{"linux_amd64", "darwin_arm64"} {
			data, err := io.ReadAll(release.Archive(on))
			check0(t, err)
			check0(t, os.WriteFile(filepath.Join(dist, release.Filename(on)), data, 0o600))
		}
		sums := filepath.Join(dist, "terraform-provider-demo_"+v+"_SHA256SUMS")
		check0(t, os.WriteFile(sums, release.Sums(), 0o600))
		check0(t, os.WriteFile(sums+".sig", release.Signature(), 0o600))
	}
	keyFile, source := filepath.Join(dist, "key.asc"), t.TempDir()
	check0(t, os.WriteFile(keyFile, []byte(key.Public().Armor), 0o600))
	check0(t, os.WriteFile(filepath.Join(source, "main.tf"), []byte("# module\n"), 0o600))
	do := func(want int, args ...string) string {
		t.Helper()
		out, terminal, exit := tofureg(t, nil, dist, args...)
		if exit != want {
			t.Fatalf("tofureg %s: code %d, want %d\n%s%s", args, exit, want, out, terminal)
		}
		return out
	}
	host := []string{"-host", "registry.example.com"}
	publish := append([]string{"publish", "-to", to, "-key", keyFile}, host...)
	if out := do(0, append(publish, "acme", dist)...); strings.Count(out, "for 2 platforms") != 2 {
		t.Errorf("publish prints\n%s", out)
	}
	do(0, append(publish, "-module", "acme/network/aws@1.0.0", source)...)
	if out := do(0, append([]string{"check", "-registry", to}, host...)...); !strings.HasPrefix(out, "3 versions checked") {
		t.Errorf("check prints\n%s", out)
	}
	check0(t, os.Remove(one(t, filepath.Join(to, "files/providers/acme/demo/1.1.0/*/*darwin_arm64.zip"))))
	if out := do(3, append([]string{"check", "-json", "-registry", to}, host...)...); !strings.Contains(out, "1.1.0 darwin_arm64") {
		t.Errorf("check of a registry without an archive prints\n%s", out)
	}
	check0(t, os.Remove(filepath.Join(dist, "terraform-provider-demo_1.0.0_SHA256SUMS.sig")))
	if out := do(1, append(publish, "acme", dist)...); out != "" {
		t.Errorf("publish without a signature prints\n%s", out)
	}
}

// TestServe: tofu installs from a cache of a registry, from its mirror and from a registry of files.
func TestServe(t *testing.T) {
	t.Parallel()
	s := world(t)
	theirs, cache := newClient(t, s), t.TempDir()
	cert, key := certificate(t)
	check0(t, os.WriteFile(strings.TrimPrefix(theirs.env[0], "SSL_CERT_FILE="), append(slices.Clone(s.CertPEM), cert...), 0o600))
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	check0(t, os.WriteFile(certFile, cert, 0o600))
	check0(t, os.WriteFile(keyFile, key, 0o600))
	check0(t, os.WriteFile(filepath.Join(theirs.dir, "main.tf"), []byte("terraform {\n  required_providers {\n    alpha = { source = \"registry.example.com/acme/alpha\" }\n  }\n}\n"), 0o600))
	for _, flag := range []string{"-cache", "-mirror"} {
		ctx, cancel := context.WithCancel(t.Context())
		out, ended := newLine(), make(chan error, 1)
		c := call{out: out, terminal: io.Discard, http: s.Client(), system: cliconfig.System{Home: t.TempDir(), Dir: dir}}
		go func() {
			ended <- run(ctx, []string{"serve", flag, cache, "-listen", "127.0.0.1:0", "-cert", certFile, "-key", keyFile}, c)
		}()
		var url string
		select {
		case url = <-out.text:
		case err := <-ended:
			t.Fatalf("serve %s: %v", flag, err)
		}
		rc := fmt.Sprintf("provider_installation {\n  network_mirror {\n    url = %q\n  }\n}\n", strings.TrimSpace(url))
		check0(t, os.WriteFile(strings.TrimPrefix(theirs.env[1], "TF_CLI_CONFIG_FILE="), []byte(rc), 0o600))
		check0(t, os.RemoveAll(filepath.Join(theirs.dir, ".terraform")))
		theirs.run(t, "init", "-no-color")
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve %s after an interrupt: %v", flag, err)
		}
	}
}

// line is a writer whose first text another goroutine waits for.
type line struct{ text chan string }

func newLine() line { return line{make(chan string, 1)} }

func (l line) Write(p []byte) (int, error) {
	select {
	case l.text <- string(p):
	default:
	}
	return len(p), nil
}

// certificate returns a certificate for this machine and its key, PEM.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check0(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	check0(t, err)
	encoded, err := x509.MarshalECPrivateKey(private)
	check0(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}
