package cliconfig_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/internal/must"
)

var allCases = flag.Bool("cliconfig.all", false, "compare all configurations of testdata with terraform, not only every fourth")

// notCompared are the cases in which terraform and this package differ, with the reason.
var notCompared = map[string]string{
	"cache-file":                "terraform refuses a file as the plugin cache only when it installs",
	"helper-newest":             "terraform crashes on an invalid version of a helper",
	"token-json-null":           "terraform crashes if a token is an object",
	"install-oci":               "only OpenTofu has such mirrors",
	"install-oci-reserved-type": "only OpenTofu has such mirrors",
	"file-oci-twice":            "only OpenTofu has this setting",
	"oci-blocks":                "only OpenTofu has this setting",
	"oci-blocks-bad":            "only OpenTofu has this setting",
	"oci-json-bad":              "only OpenTofu has this setting",
	"oci-defaults-bad":          "only OpenTofu has this setting",
	"protocols-errors":          "only OpenTofu has these settings",
}

// TestRealErrors compares which configurations of testdata terraform and this package refuse.
func TestRealErrors(t *testing.T) {
	t.Parallel()
	compareErrors(t, "terraform", "*", func(i int, name string) bool {
		return notCompared[name] == "" && (i%4 == 0 || *allCases)
	})
}

// TestRealOCI compares which configurations with OCI credentials tofu and this package
// refuse.
func TestRealOCI(t *testing.T) {
	t.Parallel()
	compareErrors(t, "tofu", "oci-*", func(int, string) bool { return true })
}

// compareErrors compares which of the selected cases for Unix a CLI and this package refuse.
func compareErrors(t *testing.T, cli, pattern string, selected func(i int, name string) bool) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows has other places")
	}
	program, err := exec.LookPath(cli)
	if err != nil {
		t.Skipf("skipped: %s is not installed", cli)
	}
	paths, err := filepath.Glob("testdata/" + pattern + ".txt")
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d cases, %v", len(paths), err)
	}
	for i, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		data := must.Get(os.ReadFile(path))(t)
		c := parseCase(t, string(data))
		if c.system.GOOS != "linux" || c.system.Home != "/home/alice" || c.system.Terraform || !selected(i, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cliconfig.Load(c.system)
			if refused, said := c.refusedBy(t, program); refused != (err != nil) {
				t.Errorf("refused by %s: %v, Load: %v\n%s", program, refused, err, said)
			}
		})
	}
}

// refusedBy runs a CLI with the files of c, in a directory that stands for the root of the
// file system, and with .terraformrc instead of .tofurc.
func (c *testCase) refusedBy(t *testing.T, program string) (refused bool, said string) {
	t.Helper()
	dir := t.TempDir()
	move := []string{"/home/alice/.tofurc", dir + "/home/alice/.terraformrc"}
	for _, top := range []string{"/home/", "/project/", "/var/", "/etc/", "/xdg/", "/data/", "/opt/"} {
		move = append(move, `"`+top, `"`+dir+top, "="+top, "="+dir+top)
	}
	moved := strings.NewReplacer(move...)
	for file, text := range c.files {
		if strings.HasSuffix(file, "/") {
			file += "keep"
		}
		write(t, dir+strings.Replace(file, ".tofurc", ".terraformrc", 1), moved.Replace(text))
	}
	must.Do(t, os.MkdirAll(dir+"/project", 0o755))
	cmd := exec.Command(program, "version")
	cmd.Dir = dir + "/project"
	cmd.Env = []string{"HOME=" + dir + "/home/alice", "CHECKPOINT_DISABLE=1"}
	for _, v := range c.system.Environ {
		cmd.Env = append(cmd.Env, moved.Replace(v))
	}
	out, err := cmd.CombinedOutput()
	// This command reports errors and still succeeds.
	return err != nil || strings.Contains(string(out), "Error: "), string(out)
}
