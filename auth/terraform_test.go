package auth_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
)

// TestRealClient has the CLI change a file that this package wrote, and run a
// helper as this package does.
func TestRealClient(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"terraform", "tofu"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("skipped: %s is not installed", name)
			}
			home := t.TempDir()
			file := auth.CredentialsFile{Path: filepath.Join(configDir(home), "credentials.tfrc.json")}
			for _, host := range []string{"a.test", "café.test:8443", "b.test:8443"} {
				if err := file.Save(t.Context(), svchost.MustParse(host), token(t, secret)); err != nil {
					t.Fatal(err)
				}
			}
			logout(t, program, home, "café.test:8443")
			want(t, file, svchost.MustParse("café.test:8443"), "")
			want(t, file, hostB, secret)
			if err := file.Forget(t.Context(), hostB); err != nil {
				t.Fatal(err)
			}
			want(t, file, hostA, secret)

			if runtime.GOOS != "windows" { // where the helper below would not run
				seen := configureHelper(t, home)
				logout(t, program, home, "b.test:8443")
				if got, err := os.ReadFile(seen); string(got) != "--vault x forget b.test:8443\n" || err != nil {
					t.Errorf("the helper was run with %q, %v", got, err)
				}
			}
			logout(t, program, home, "a.test") // is in the file, so not for the helper
			want(t, file, hostA, "")
		})
	}
}

// configDir is where the CLI keeps its configuration.
func configDir(home string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(home, "terraform.d")
	}
	return filepath.Join(home, ".terraform.d")
}

// configureHelper configures a helper that writes its arguments into a file.
func configureHelper(t *testing.T, home string) (seen string) {
	t.Helper()
	seen = filepath.Join(home, "seen")
	plugins := filepath.Join(configDir(home), "plugins")
	if err := os.MkdirAll(plugins, 0o700); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho \"$@\" >>'" + seen + "'\n"
	if err := os.WriteFile(filepath.Join(plugins, "terraform-credentials-spy"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	config := "credentials_helper \"spy\" {\n  args = [\"--vault\", \"x\"]\n}\n"
	if err := os.WriteFile(filepath.Join(home, ".terraformrc"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return seen
}

func logout(t *testing.T, program, home, host string) {
	t.Helper()
	cmd := exec.Command(program, "logout", host)
	cmd.Dir = home
	// Nothing of the user's own configuration.
	cmd.Env = []string{"HOME=" + home, "APPDATA=" + home, "CHECKPOINT_DISABLE=1"}
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "Warning") {
		t.Fatalf("logout %s: %v\n%s", host, err, out)
	}
}
