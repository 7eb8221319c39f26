package layout_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestReadme holds that the README's code is that of readme_jobs_test.go, which
// compiles, and that the README stays short.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme := readFile(t, "README.md")
	jobs := readFile(t, "internal/layout/readme_jobs_test.go")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme, -1)
	if len(blocks) < 3 {
		t.Errorf("README.md shows %d jobs in Go, want 3", len(blocks))
	}
	for _, block := range blocks {
		for function := range strings.SplitSeq(block[1], "\n\n") {
			if !strings.Contains(jobs, strings.TrimSpace(function)) {
				t.Errorf("this code of README.md is not in readme_jobs_test.go:\n%s", function)
			}
		}
	}
	if lines := strings.Count(readme, "\n"); lines >= 150 {
		t.Errorf("README.md has %d lines, the limit is 150", lines)
	}
	for _, command := range []string{"go run ./examples/quickstart\n", "go test ./...\n"} {
		if !strings.Contains(readme, "\n"+command) {
			t.Errorf("README.md does not show the command %q", command)
		}
	}
}

func TestReadmeProvider(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.opentofu.org")
	for _, version := range []string{"3.5.9", "3.6.3", "4.0.0"} {
		reg.AddProvider(regtest.Provider{Address: "hashicorp/random", Version: version, Platforms: []string{addrs.CurrentPlatform().String()}})
	}
	dir := t.TempDir()
	report, err := download(t.Context(), &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := report.SignedBy.Fingerprint, reg.Key().Fingerprint(); got != want {
		t.Errorf("signed by %s, want %s", got, want)
	}
	name := filepath.Join(dir, "terraform-provider-random_3.6.3_"+addrs.CurrentPlatform().String()+".zip")
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := check(t.Context(), file, info.Size(), report.Recordable()); err != nil {
		t.Error(err)
	}
	other := []checksum.Hash{checksum.ZHSum([32]byte{})}
	if err := check(t.Context(), file, info.Size(), other); err == nil || !strings.Contains(err.Error(), "is not what was locked") {
		t.Errorf("another lock: error %v", err)
	}
}

func TestReadmeEnsure(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.opentofu.org")
	reg.AddProvider(regtest.Provider{Address: "hashicorp/random", Version: "3.6.3", Platforms: []string{addrs.CurrentPlatform().String()}})
	dir := t.TempDir()
	required := map[addrs.Provider]addrs.ProviderConstraint{
		addrs.MustParseProvider("hashicorp/random"): addrs.MustParseProviderConstraint("~> 3.6"),
	}
	for _, from := range []install.Origin{install.FromSource, install.FromDir} {
		result, err := ensure(t.Context(), &cliconfig.Config{HTTP: reg.Client()}, dir, required)
		if err != nil {
			t.Fatal(err)
		}
		if s := result.Selections[0]; s.From != from || s.Version.String() != "3.6.3" || s.Executable == "" {
			t.Errorf("selected %+v, want it from %q", s, from)
		}
	}
	if n := reg.Count(regtest.Archive); n != 1 {
		t.Errorf("%d downloads, want 1", n)
	}
}

func TestReadmeModule(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	release := reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.2.0", Files: map[string]string{"modules/subnet/main.tf": "# empty\n"}})
	h1, err := fetchModule(t.Context(), &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}, filepath.Join(t.TempDir(), "network"))
	if err != nil {
		t.Fatal(err)
	}
	if h1.String() != fmt.Sprint(release.H1()) {
		t.Errorf("h1 is %s, want %s", h1, release.H1())
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
