// Package terraformtest runs the real clients, terraform and tofu, in tests.
package terraformtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each runs a parallel subtest for each client. It skips clients that are not installed.
func Each(t *testing.T, test func(t *testing.T, program string)) {
	t.Helper()
	for _, name := range []string{"terraform", "tofu"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("skipped: %s is not installed", name)
			}
			test(t, program)
		})
	}
}

// Project is a directory with a configuration for a client. The user's own settings do not affect
// the client.
type Project struct {
	Program string   // path of the client
	Dir     string   // directory of the configuration
	Env     []string // additional environment variables
}

// New returns a project in a new directory.
func New(t testing.TB, program string) *Project {
	t.Helper()
	return &Project{Program: program, Dir: t.TempDir()}
}

// Name returns the name of the client, "terraform" or "tofu".
func (p *Project) Name() string { return strings.TrimSuffix(filepath.Base(p.Program), ".exe") }

// Write writes a file in the project and returns its path.
func (p *Project) Write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(p.Dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Read returns the content of a file in the project.
func (p *Project) Read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Configure writes the CLI configuration.
func (p *Project) Configure(t testing.TB, config string) {
	t.Helper()
	p.Write(t, "cli.tfrc", config)
}

// Trust makes the client trust only this certificate authority, which is PEM. It skips the test on
// systems where the client ignores SSL_CERT_FILE.
func (p *Project) Trust(t testing.TB, authority []byte) {
	t.Helper()
	switch runtime.GOOS {
	case "darwin", "ios", "windows":
		t.Skip("skipped: SSL_CERT_FILE has no effect on " + runtime.GOOS)
	}
	p.Env = append(p.Env, "SSL_CERT_FILE="+p.Write(t, "ca.pem", string(authority)))
}

// Init removes .terraform, runs the init command and returns its output. It fails the test if the
// command fails.
func (p *Project) Init(t testing.TB, flags ...string) string {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(p.Dir, ".terraform")); err != nil {
		t.Fatal(err)
	}
	return p.Run(t, slices.Concat([]string{"init", "-no-color", "-input=false"}, flags)...)
}

// Run runs the client and returns its output. It fails the test if the client fails.
func (p *Project) Run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := p.Try(t, args...)
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", p.Program, args, err, out)
	}
	return out
}

// Try runs the client and returns its output and its error.
func (p *Project) Try(t testing.TB, args ...string) (string, error) {
	t.Helper()
	out, err := p.Command(t, args...).CombinedOutput()
	return string(out), err
}

// Command returns a command that runs the client. It is killed after two minutes or at the end of
// the test.
func (p *Project) Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	config := filepath.Join(p.Dir, "cli.tfrc")
	if _, err := os.Stat(config); err != nil {
		p.Configure(t, "")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, p.Program, args...)
	cmd.Dir = p.Dir
	cmd.Env = append([]string{
		"HOME=" + p.Dir, "APPDATA=" + p.Dir, "PATH=" + os.Getenv("PATH"), "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + config,
	}, p.Env...)
	return cmd
}
