package regtest_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// TestInit has the real clients install from the registry, in all ways in which
// the metadata can refer to the files.
func TestInit(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"terraform", "tofu"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("skipped: %s is not installed", name)
			}
			for kind, p := range map[string]regtest.Provider{
				"plain":         {},
				"deflated":      {Deflate: true, Files: map[string]string{"LICENSE": "free\n", "docs/": ""}},
				"large, RSA":    {Size: 5 << 20, Keys: []*regtest.Key{regtest.NewKey(regtest.KeyOptions{RSABits: 2048, Subkey: true})}},
				"relative":      {URLs: regtest.Relative, PackageHashes: true},
				"opaque":        {URLs: regtest.Opaque},
				"other origin":  {Origin: "https://files.example.com"},
				"root-relative": {URLs: regtest.RootRelative, Version: "1.2.0+meta"},
			} {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					initialise(t, program, p)
				})
			}
		})
	}
}

// initialise runs the init command for one provider and checks what it leaves.
func initialise(t *testing.T, program string, p regtest.Provider) {
	reg := regtest.New("registry.example.com")
	p.Address = "acme/alpha"
	here := addrs.CurrentPlatform().String()
	p.Platforms = []string{here, "plan9_mips"}
	rel := reg.AddProvider(p)
	reg.Require("s3cret", regtest.Metadata)
	srv := serve(t, reg)

	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("main.tf", fmt.Sprintf("terraform {\n  required_providers {\n    alpha = {\n      source = %q\n    }\n  }\n}\n", srv.Addr+"/acme/alpha"))
	_, port, err := net.SplitHostPort(srv.Addr)
	if err != nil {
		t.Fatal(err)
	}
	out := run(t, program, dir, []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "CHECKPOINT_DISABLE=1",
		"SSL_CERT_FILE=" + write("ca.pem", string(srv.CertPEM)),
		"TF_CLI_CONFIG_FILE=" + write("config.tfrc", fmt.Sprintf("credentials \"localhost:%s\" {\n  token = \"s3cret\"\n}\n", port)),
	}, "init", "-no-color", "-input=false")

	if want := "key ID " + rel.Key().ID(); !strings.Contains(out, want) {
		t.Errorf("the output does not have %q:\n%s", want, out)
	}
	lock, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	// The client hashes what it has unpacked, where directory entries are gone.
	archive := rel.Archive(here)
	_, tree, err := verify.H1Zip(archive, archive.Size(), verify.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{tree.String(), rel.ZH(here).String(), rel.ZH("plan9_mips").String(), `"` + srv.Addr + `/acme/alpha"`} {
		if !strings.Contains(string(lock), want) {
			t.Errorf("the lock file does not have %s:\n%s", want, lock)
		}
	}
	for _, q := range reg.Requests() {
		if q.Kind&regtest.Downloads != 0 && q.Authorization != "" {
			t.Errorf("%v", q)
		}
	}
}

func run(t *testing.T, program, dir string, env []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}
