package workdir_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/workdir"
	"github.com/tofureg/tofureg/workdir/internal/must"
)

// Prepare a directory as init does, with the user's CLI configuration.
func ExampleDir_Prepare() {
	prepare := func(ctx context.Context, path string) error {
		config, err := cliconfig.Load(ctx, cliconfig.Host())
		if err != nil {
			return err
		}
		dir := workdir.New(config, path)
		result, err := dir.Prepare(ctx)
		if err != nil {
			return err
		}
		for _, m := range result.Modules {
			fmt.Println(m.Key, m.Source, m.Version)
		}
		return nil
	}
	_ = prepare
}

// One progress bar for the modules and the providers of a directory.
func ExampleDir_Prepare_progress() {
	registry := regtest.New("registry.opentofu.org")
	registry.AddModule(regtest.Module{Address: "acme/vpc/aws", Size: 3 << 20})
	registry.AddProvider(regtest.Provider{Address: "acme/cloud"})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}

	path, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(path)
	text := "module \"vpc\" {\n  source = \"acme/vpc/aws\"\n}\nterraform {\n  required_providers {\n    cloud = {\n      source = \"acme/cloud\"\n    }\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(path, "main.tf"), []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}

	type work struct {
		provider addrs.Provider
		platform addrs.Platform
		dir      string // of a module
	}
	arrived, expected := map[work]int64{}, map[work]int64{}
	bar := func(e progress.Event) {
		if e.Bytes > 0 || e.Total > 0 { // an event of a transfer
			w := work{e.Provider, e.Platform, e.Dir}
			arrived[w], expected[w] = e.Bytes, max(e.Bytes, e.Total)
		}
		var have, want int64
		for w := range expected {
			have, want = have+arrived[w], want+expected[w]
		}
		if e.Kind == progress.Stored || e.Kind == progress.Installed {
			fmt.Printf("%s, %d packages, %d %%\n", e.Kind, len(expected), 100*have/max(want, 1))
		}
	}
	dir := &workdir.Dir{Path: path, Registry: client, Installer: &install.Installer{Source: client}}
	dir.Modules.Progress, dir.Installer.Progress = bar, bar
	if _, err := dir.Prepare(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// stored, 1 packages, 100 %
	// installed, 2 packages, 100 %
}

// List what a directory requires and declares, and install nothing.
func ExampleDir_Read() {
	list := func(ctx context.Context, path string) error {
		m, err := (&workdir.Dir{Path: path}).Read(ctx)
		if m == nil {
			return err // otherwise m has what could be read
		}
		for _, c := range m.Calls {
			fmt.Println(c.Place, c.Source, c.Version)
		}
		for _, r := range m.Providers {
			fmt.Println(r.Place, r.Provider, r.Constraint)
		}
		for _, v := range m.Variables {
			fmt.Println(v.Place, v.Name, v.Type, v.Default)
		}
		for _, r := range m.Resources {
			fmt.Println(r.Place, r.Type, r.Name, r.Provider)
		}
		return err
	}
	_ = list
}

// List the modules of a directory without a network, also those that are not installed.
func ExampleDir_ReadTree() {
	list := func(ctx context.Context, path string) error {
		result, err := (&workdir.Dir{Path: path}).ReadTree(ctx)
		if result == nil {
			return err // otherwise it has what could be read
		}
		for _, m := range result.Modules {
			fmt.Println(m.Key, m.Source, m.Version, m.Missing)
		}
		return err
	}
	_ = list
}

func TestSnippetPrepare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := must.Get(cliconfig.Load(context.Background(), cliconfig.System{Home: dir, Dir: dir}))(t)
	for name, text := range map[string]string{"main.tf": "module \"m\" {\n  source = \"./m\"\n}\n", "m/m.tf": ""} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
	must.Do(t, prepareDirectory(t.Context(), config, dir))
	user := must.Get(cliconfig.Load(context.Background(), cliconfig.System{Home: dir, Dir: dir, Environ: []string{"TF_VAR_x=1"}}))(t)
	if got := workdir.New(user, dir).Environ; len(got) != 1 || got[0] != "TF_VAR_x=1" {
		t.Errorf("New: Environ = %q, want that of the user", got)
	}
	both := workdir.New(config, dir)
	if withProgress(both, func(progress.Event) {}); both.Modules.Progress == nil || both.Installer.Progress == nil {
		t.Error("withProgress has set no functions")
	}
	if _, err := os.Stat(filepath.Join(dir, ".terraform", "modules", "modules.json")); err != nil {
		t.Errorf("the manifest: %v, want that it exists", err)
	}
	var json strings.Builder
	if err := writeRequirements(t.Context(), filepath.Join(dir, "m"), &json); err != nil || json.String() != "{\"key\":\"\",\"dir\":\".\"}\n" {
		t.Errorf("writeRequirements of an empty module: %v, %s", err, &json)
	}
}
