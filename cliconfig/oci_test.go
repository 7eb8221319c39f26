package cliconfig_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/cliconfig"
)

// TestRealOCI has tofu read the configurations of testdata about OCI credentials, and
// compares whether it refuses them.
func TestRealOCI(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows has other places")
	}
	program, err := exec.LookPath("tofu")
	if err != nil {
		t.Skip("skipped: tofu is not installed")
	}
	paths, err := filepath.Glob("testdata/oci-*.txt")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d cases, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := parseCase(t, string(data))
		if c.system.GOOS != "linux" || c.system.Terraform {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			_, err := cliconfig.Load(c.system)
			if refused, said := c.refusedBy(t, program); refused != (err != nil) {
				t.Errorf("refused by tofu: %v, here: %v\n%s", refused, err, said)
			}
		})
	}
}

// TestOCISecrets prints credentials and configuration in all ways.
func TestOCISecrets(t *testing.T) {
	t.Parallel()
	const secret = "never-shown"
	sys := cliconfig.System{GOOS: "linux", Home: "/home/alice", Open: fakeFiles(nil)}
	cfg, err := cliconfig.Parse(sys, "x", []byte("oci_credentials \"a.test\" {\n  username = \"u\"\n  password = \""+secret+"\"\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := cfg.OCICredential("a.test/x")
	if err != nil || c.Password.Reveal() != secret {
		t.Fatalf("OCICredential: %v, password %q", err, c.Password.Reveal())
	}
	var b bytes.Buffer
	for _, v := range []any{c, &c, cfg, []cliconfig.OCICredential{c}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&b, verb, v)
		}
	}
	if err := json.NewEncoder(&b).Encode(c); err != nil {
		t.Error(err)
	}
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "c", c)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "c", c)
	if got := b.String(); strings.Contains(got, secret) || strings.Contains(got, fmt.Sprintf("%x", secret)) {
		t.Errorf("a secret is printed: %s", got)
	}
	if none, err := new(cliconfig.Config).OCICredential("a.test/x"); err != nil || none.Place != (cliconfig.Place{}) || none.Username+none.Password.Reveal()+none.Helper != "" {
		t.Errorf("OCICredential of the zero Config: %v, %v; want none", none, err)
	}
}
