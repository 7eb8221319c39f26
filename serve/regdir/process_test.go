package regdir_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
)

var publishTo = flag.String("regdir.publish", "", "be a process that publishes in this `directory`; see TestChild")

// TestChild is the process of TestKilledProcess. It does nothing by itself.
func TestChild(t *testing.T) {
	if *publishTo == "" {
		return
	}
	home := filepath.Dir(*publishTo)
	rel := regdir.Release{
		Provider: alpha, Version: v1, Sums: filepath.Join(home, "dist", "terraform-provider-alpha_1.0.0_SHA256SUMS"),
		Manifest: filepath.Join(home, "dist", "terraform-registry-manifest.json"),
		Keys:     []verify.Key{{Armor: string(must.Get(os.ReadFile(filepath.Join(home, "key")))(t))}},
	}
	r := newRegistry(&watched{Store: &storage.Dir{Path: *publishTo}, before: func(op, name string) error {
		fmt.Println("call", op, name)
		_, err := fmt.Scanln() // the other process lets this one go on
		return err
	}})
	publish(t, r, rel)
}

// TestKilledProcess kills processes that publish to one directory, each some calls later than the one before.
// What the registry says must be true, and the last process completes the work.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	rel := dist(t, "1.0.0", 0, "linux_amd64", "darwin_arm64")
	must.Do(t, os.CopyFS(filepath.Join(home, "dist"), os.DirFS(filepath.Dir(rel.Sums))))
	write(t, filepath.Join(home, "key"), rel.Keys[0].Armor)
	dir := filepath.Join(home, "registry")
	must.Do(t, os.Mkdir(dir, 0o755))
	kills := 0
	for calls := 1; ; calls += 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-regdir.publish="+dir)
		out, in := must.Get(cmd.StdoutPipe())(t), must.Get(cmd.StdinPipe())(t)
		must.Do(t, cmd.Start())
		seen := 0
		for lines := bufio.NewScanner(out); seen < calls && lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "call ") {
				if seen++; seen < calls {
					fmt.Fprintln(in)
				}
			}
		}
		if seen == calls {
			_ = cmd.Process.Kill()
		}
		err := cmd.Wait()
		if got := wantTrue(t, &storage.Dir{Path: dir}); got != "" && got != "1.0.0 darwin_arm64 linux_amd64" {
			t.Errorf("after a kill at call %d the registry has %q", calls, got)
		}
		if seen < calls {
			must.Do(t, err)
			break
		}
		kills++
	}
	if got := wantTrue(t, &storage.Dir{Path: dir}); got != "1.0.0 darwin_arm64 linux_amd64" || kills < 3 {
		t.Errorf("after %d kills the registry has %q", kills, got)
	}
}
