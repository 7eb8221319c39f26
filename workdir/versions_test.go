package workdir

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/module"
	modulelock "github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/workdir/internal/must"
)

// wideVersions are versions of modules, some of them with four numbers. wideCalls calls a module with constraints.
var wideVersions = []string{"1.0.0", "1.0.0.4", "1.0.0.15", "1.1.0.2", "2024.1.2.3-rc1", "2024.1.2.3"}

func wideCalls(source string) string {
	var text strings.Builder
	for i, constraint := range []string{">= 0", "1.0.0.4", "v1.0.0.4", "~> 1.0.0.0", ">= 1.0.0.15, < 2", "=2024.1.2.3", "1.0.0.0"} {
		fmt.Fprintf(&text, "module \"m%d\" {\n  source  = %q\n  version = %q\n}\n", i, source, constraint)
	}
	return text.String()
}

// TestWideVersions: modules may have more than three numbers in a version, and the clients install the same.
func TestWideVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, version := range wideVersions {
		w.registry.AddModule(regtest.Module{Address: "acme/wide/aws", Version: version, Files: map[string]string{"main.tf": "# " + version}})
	}
	c := tree{files: map[string]string{"main.tf": wideCalls("HOST/acme/wide/aws")}}
	same(t, w, c)
	d := w.dir(t, t.TempDir(), false)
	c.write(t, w, d.Path)
	must.Do(t, prepare(t.Context(), d)) // so the clients succeed too
}

// TestWideVersionsLocked: what publishes, holds back, selects and locks modules knows these versions.
func TestWideVersionsLocked(t *testing.T) {
	t.Parallel()
	wide, now := addrs.MustParseModule("acme/wide/aws"), time.Now()
	registry := &regdir.Registry{Store: &storage.Memory{}}
	rule := cooldown.Rule{Age: time.Hour, Dates: &cooldown.Ledger{Store: &storage.Memory{}}, Now: func() time.Time { return now }}
	d := &Dir{Path: t.TempDir(), Registry: &cooldown.Modules{Source: registry, Rule: rule}, LockModules: true}
	write(t, d.Path, map[string]string{"main.tf": wideCalls("acme/wide/aws")})
	for _, version := range append(wideVersions, "2024.1.2.4") {
		if version == "2024.1.2.4" { // when the others are old enough
			must.Get(d.Registry.ModuleVersions(t.Context(), wide))(t)
			now = now.Add(2 * time.Hour)
		}
		dir := t.TempDir()
		write(t, dir, map[string]string{"main.tf": "# " + version})
		location := must.Get(module.ParseLocation("file://" + filepath.ToSlash(dir)))(t)
		must.Get(registry.PublishModule(t.Context(), wide, addrs.MustParseModuleVersion(version), location, module.Options{AllowLocal: true}))(t)
	}
	var got []string
	for _, m := range must.Get(d.Prepare(t.Context()))(t).Modules[1:] {
		got = append(got, m.Version.String())
	}
	if want := "2024.1.2.3 1.0.0.4 1.0.0.4 1.0.0.15 1.1.0.2 2024.1.2.3 1.0.0"; strings.Join(got, " ") != want {
		t.Errorf("Prepare selects %v, want %s", got, want)
	}
	locked := must.Get(modulelock.Load(filepath.Join(d.Path, modulelock.Name)))(t)
	e, _ := locked.Get(must.Get(modulelock.KeyOf("acme/wide/aws", "~> 1.0.0.0"))(t))
	if e.Version.String() != "1.0.0.15" {
		t.Errorf("~> 1.0.0.0 is locked at %v, want 1.0.0.15", e.Version)
	}
	must.Do(t, d.VerifyModules(t.Context()))
	must.Get((&Dir{Path: d.Path, LockModules: true, ReadOnly: true}).Prepare(t.Context()))(t) // offline
}
