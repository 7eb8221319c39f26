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
)

var allCases = flag.Bool("cliconfig.all", false, "have terraform read all configurations of testdata, not only every fourth")

// notCompared are the cases about which terraform and this package differ, and why.
var notCompared = map[string]string{
	"cache-file":                  "terraform notices only when it installs that the plugin cache is a file",
	"helper-newest":               "terraform crashes where the version of a helper is none",
	"token-json-null":             "terraform crashes where a token is an object",
	"install-oci":                 "only OpenTofu has such mirrors",
	"install-oci-impossible-type": "only OpenTofu has such mirrors",
	"file-oci-twice":              "only OpenTofu has this setting",
	"oci-blocks":                  "only OpenTofu has this setting",
	"oci-blocks-bad":              "only OpenTofu has this setting",
	"oci-json-bad":                "only OpenTofu has this setting",
	"oci-defaults-bad":            "only OpenTofu has this setting",
	"protocols-errors":            "only OpenTofu has these settings",
}

// TestRealErrors has the real client read the configurations of testdata that are those
// of a Unix user, and compares whether it refuses them.
func TestRealErrors(t *testing.T) {
	t.Parallel()
	compareErrors(t, "terraform", "*", func(i int, name string) bool {
		return notCompared[name] == "" && (i%4 == 0 || *allCases)
	})
}

// TestRealOCI has tofu read the configurations of testdata about OCI credentials, and
// compares whether it refuses them.
func TestRealOCI(t *testing.T) {
	t.Parallel()
	compareErrors(t, "tofu", "oci-*", func(int, string) bool { return true })
}

// compareErrors has a CLI read those cases of testdata that are selected and about a
// Unix user, and compares whether it refuses them.
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
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
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

// refusedBy runs a real client with the files of c, in a directory that stands for the
// top of the file system, and with .terraformrc instead of .tofurc.
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
	if err := os.MkdirAll(dir+"/project", 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "version")
	cmd.Dir = dir + "/project"
	cmd.Env = []string{"HOME=" + dir + "/home/alice", "CHECKPOINT_DISABLE=1"}
	for _, v := range c.system.Environ {
		cmd.Env = append(cmd.Env, moved.Replace(v))
	}
	out, err := cmd.CombinedOutput()
	// This command goes on after errors, others do not.
	return err != nil || strings.Contains(string(out), "Error: "), string(out)
}
