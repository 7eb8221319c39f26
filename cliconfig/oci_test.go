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
	known := cfg.OCICredentials()
	if len(known.Blocks) != 1 || known.Blocks[0].Password.Reveal() != secret {
		t.Fatalf("OCICredentials() = %+v, want one block with the password", known)
	}
	c := known.Blocks[0]
	var b bytes.Buffer
	for _, v := range []any{c, &c, cfg, known} {
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
	if none := new(cliconfig.Config).OCICredentials(); len(none.Blocks) != 0 || len(none.Files) != 0 {
		t.Errorf("OCICredentials of the zero Config = %+v, want none", none)
	}
}
