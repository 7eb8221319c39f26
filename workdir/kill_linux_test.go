package workdir

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/module/manifest"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/workdir/internal/must"
)

// TestKilled: a process that is killed leaves a manifest whose modules have the versions that it names.
func TestKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	must.Do(t, os.WriteFile(ca, w.server.CertPEM, 0o644))
	dir := t.TempDir()
	var root strings.Builder
	for i := range 6 {
		fmt.Fprintf(&root, "module \"m%d\" {\n  source  = \"%s/acme/m%d/aws\"\n}\n", i, w.host, i)
	}
	write(t, dir, map[string]string{"main.tf": root.String()})
	killed := 0
	for round := range 15 {
		version := fmt.Sprintf("1.0.%d", round)
		for i := range 6 {
			w.registry.AddModule(regtest.Module{Address: fmt.Sprintf("acme/m%d/aws", i), Version: version, Files: map[string]string{"main.tf": "# " + version}})
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), prepared+"="+dir, "SSL_CERT_FILE="+ca)
		must.Do(t, cmd.Start())
		stop := time.AfterFunc(time.Duration(20+10*round)*time.Millisecond, func() { cmd.Process.Kill() })
		if cmd.Wait() != nil {
			killed++
		}
		stop.Stop()
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(modulesJSON)))
		if err != nil {
			continue // killed before the first manifest
		}
		file, err := manifest.Parse(data)
		if err != nil {
			t.Fatalf("round %d: %v in %s", round, err, data)
		}
		for _, m := range file {
			if m.Version == "" {
				continue
			}
			if text := read(t, dir, m.Dir+"/main.tf"); text != "# "+m.Version {
				t.Errorf("round %d: module %s has %q, want version %s", round, m.Key, text, m.Version)
			}
		}
	}
	if killed == 0 {
		t.Error("no process was killed, want some")
	}
	must.Do(t, prepare(t.Context(), w.dir(t, dir, false)))
	entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(modulesPath)))
	if err != nil || len(entries) != 7 {
		t.Errorf("after %d kills, the modules are %v, %v; want 6 and the manifest", killed, entries, err)
	}
}
