// Package terraformtest has the real clients, terraform and tofu, work in a directory of
// a test.
package terraformtest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each runs a parallel subtest for each client, and skips those that are not installed.
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

// Project is a directory with a configuration, in which a client works. Nothing of the
// user's own settings reaches the client.
type Project struct {
	Program string   // of the client, as Each passes it
	Dir     string   // with the configuration
	Env     []string // further variables
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

// Require writes a configuration that requires providers: versions by source address. The
// last part of an address must be unlike the others.
func (p *Project) Require(t testing.TB, versions map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("terraform {\n  required_providers {\n")
	for _, source := range slices.Sorted(maps.Keys(versions)) {
		name := source[strings.LastIndexByte(source, '/')+1:]
		fmt.Fprintf(&b, "    %s = {\n      source  = %q\n      version = %q\n    }\n", name, source, versions[source])
	}
	b.WriteString("  }\n}\n")
	p.Write(t, "main.tf", b.String())
}

// Configure writes the CLI configuration.
func (p *Project) Configure(t testing.TB, config string) {
	t.Helper()
	p.Write(t, "cli.tfrc", config)
}

// Trust has the client believe this authority and no other; it is PEM. The test is skipped
// where clients ask the system alone whom to believe.
func (p *Project) Trust(t testing.TB, authority []byte) {
	t.Helper()
	switch runtime.GOOS {
	case "darwin", "ios", "windows":
		t.Skip("skipped: SSL_CERT_FILE, by which the client trusts the server, has no effect on " + runtime.GOOS)
	}
	p.Env = append(p.Env, "SSL_CERT_FILE="+p.Write(t, "ca.pem", string(authority)))
}

// Init removes what an earlier run has installed, runs the init command and returns what
// it printed. The test fails if the command does.
func (p *Project) Init(t testing.TB, flags ...string) string {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(p.Dir, ".terraform")); err != nil {
		t.Fatal(err)
	}
	return p.Run(t, slices.Concat([]string{"init", "-no-color", "-input=false"}, flags)...)
}

// Run runs the client and returns what it printed. The test fails if the client does.
func (p *Project) Run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := p.Try(t, args...)
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", p.Program, args, err, out)
	}
	return out
}

// Try runs the client and returns what it printed, and an error if the client failed.
func (p *Project) Try(t testing.TB, args ...string) (string, error) {
	t.Helper()
	out, err := p.Command(t, args...).CombinedOutput()
	return string(out), err
}

// Command returns the command that runs the client, not yet started. It is killed after two
// minutes and when the test ends.
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
