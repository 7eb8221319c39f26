package auth_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
)

// TestRealClient checks that the CLI changes a file of this package, and runs a helper with
// the same arguments.
func TestRealClient(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, realClient)
}

func realClient(t *testing.T, program string) {
	p := terraformtest.New(t, program)
	// If the variable is set, the CLI does not read its configuration directory.
	p.Env = append(p.Env, "TF_CLI_CONFIG_FILE=")
	file := auth.CredentialsFile{Path: filepath.Join(configDir(p.Dir), "credentials.tfrc.json")}
	for _, host := range []string{"a.test", "café.test:8443", "b.test:8443"} {
		save(t, file, svchost.MustParse(host), secret)
	}
	logout(t, p, "café.test:8443")
	want(t, file, svchost.MustParse("café.test:8443"), "")
	want(t, file, hostB, secret)
	forget(t, file, hostB)
	want(t, file, hostA, secret)

	if runtime.GOOS != "windows" { // the helper is a shell script
		seen := configureHelper(t, p)
		logout(t, p, "b.test:8443")
		if got, err := os.ReadFile(seen); string(got) != "--vault x forget b.test:8443\n" || err != nil {
			t.Errorf("the helper was run with %q, %v", got, err)
		}
	}
	logout(t, p, "a.test") // in the file, so the helper is not run
	want(t, file, hostA, "")
}

// configDir returns the configuration directory of the CLI.
func configDir(home string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(home, "terraform.d")
	}
	return filepath.Join(home, ".terraform.d")
}

// configureHelper configures a helper that writes its arguments into a file.
func configureHelper(t *testing.T, p *terraformtest.Project) (seen string) {
	t.Helper()
	seen = filepath.Join(p.Dir, "seen")
	plugins := filepath.Join(configDir(p.Dir), "plugins")
	must.Do(t, os.MkdirAll(plugins, 0o700))
	script := "#!/bin/sh\necho \"$@\" >>'" + seen + "'\n"
	// A process that is forked while the file is open for writing makes running it fail with
	// ETXTBSY.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	must.Do(t, os.WriteFile(filepath.Join(plugins, "terraform-credentials-spy"), []byte(script), 0o700))
	p.Write(t, ".terraformrc", "credentials_helper \"spy\" {\n  args = [\"--vault\", \"x\"]\n}\n")
	return seen
}

func logout(t *testing.T, p *terraformtest.Project, host string) {
	t.Helper()
	if out := p.Run(t, "logout", host); strings.Contains(out, "Warning") {
		t.Fatalf("logout %s: %s", host, out)
	}
}
