package cliconfig_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/cliconfig"
)

// TestOCISecrets prints credentials and a configuration with all verbs and encoders.
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
