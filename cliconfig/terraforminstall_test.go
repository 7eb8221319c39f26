package cliconfig_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/internal/terraformtest"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient/regtest"
)

const (
	realHost   = "host \"{HOST}\" {\n  services = {\n    \"providers.v1\" = \"https://{REGISTRY}/v1/providers/\"\n  }\n}\n"
	realMirror = "  network_mirror {\n    url = \"https://{MIRROR}/mirror/\"\n  }\n"
	realDir    = "  filesystem_mirror {\n    path = \"{DIR}\"\n  }\n"
	realNone   = "  filesystem_mirror {\n    path = \"{HOME}/project\"\n  }\n"
)

// An installCase is a realCase in which the init command and an Installer install a
// package.
type installCase struct {
	realCase
	methods string        // of provider_installation, or "" for no block
	more    string        // other settings
	unpack  bool          // the mirror directory is unpacked
	fails   bool          // both refuse the package
	unused  bool          // the CLI also locks a package that it does not use
	fault   regtest.Fault // at the mirror
}

func installCases() []installCase {
	past, strange := keyed(oldKey(), nil), keyed(newKey(), newKey())
	corrupt := regtest.Fault{Kind: regtest.Archive, Corrupt: true}
	unsigned := realCase{edit: noKeys}
	inDir := realCase{none: true}
	named := realCase{portless: true, edit: noKeys}
	return []installCase{
		{realCase: realCase{name: "signed"}},
		{realCase: realCase{name: "signed, official", official: true}, more: realHost},
		{realCase: unsigned.as("no keys"), fails: true},
		{realCase: unsigned.as("no keys beside a directory"), methods: realNone + direct, fails: true},
		{realCase: realCase{name: "expired", edit: past}},
		{realCase: realCase{name: "stranger", edit: strange}, fails: true},
		{realCase: realCase{name: "stranger beside a directory", edit: strange}, methods: realNone + direct, fails: true},
		{realCase: named.as("mirror"), methods: realMirror},
		{realCase: named.as("mirror without hashes"), methods: realMirror, fault: noHashes()},
		{realCase: named.as("mirror, corrupt"), methods: realMirror, fault: corrupt, fails: true},
		{realCase: inDir.as("packed directory"), methods: realDir},
		{realCase: inDir.as("unpacked directory"), methods: realDir, unpack: true},
		{unused: true, realCase: realCase{name: "override"}, methods: "  dev_overrides {\n    \"{HOST}/acme/alpha\" = \"{HOME}/project\"\n  }\n" + direct},
		{realCase: realCase{name: "no method"}, methods: "  direct {\n    exclude = [\"{HOST}/*/*\"]\n  }\n", fails: true},
		{realCase: realCase{name: "plugin cache", files: map[string]string{"cache/.keep": ""}}, more: "plugin_cache_dir = \"$HOME/cache\"\n"},
	}
}

func (c realCase) as(name string) realCase {
	c.name = name
	return c
}

// TestRealInstall compares whether a package is accepted, and its hashes in the lock file.
func TestRealInstall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows has other places")
	}
	cases := installCases()
	terraformtest.Each(t, func(t *testing.T, program string) {
		// For Terraform, no registry can omit keys.
		official := installCase{realCase: realCase{name: "no keys, official", official: true, edit: noKeys}, more: realHost}
		official.fails = filepath.Base(program) == "terraform"
		for _, c := range append(slices.Clone(cases), official) {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.compare(t, program)
			})
		}
	})
}

func (c installCase) compare(t *testing.T, program string) {
	config := c.more
	if c.methods != "" {
		config += "provider_installation {\n" + c.methods + "}\n"
	}
	c.files = maps.Clone(c.files)
	if c.files == nil {
		c.files = map[string]string{}
	}
	c.files[".terraformrc"] = config
	w := newWorld(t, c.realCase)
	if c.fault.Kind != 0 {
		w.mirror.AddFault(c.fault)
	}
	if c.unpack {
		w.unpackDirectory(t)
	}
	ours, err := w.ensure(t)
	theirs, out, realErr := w.init(t, program)
	if (err != nil) != c.fails || (realErr != nil) != c.fails {
		t.Fatalf("here: %v, %s: %v\n%s", err, program, realErr, out)
	}
	if c.unused {
		theirs = ""
	}
	if diff := cmp.Diff(theirs, withoutMore(ours, theirs)); diff != "" {
		t.Errorf("-%s +tofureg\n%s", program, diff)
	}
}

// withoutMore returns a lock file without the zh hashes that another lock file lacks. The CLI
// records the zh hash of an archive only if the registry states it.
func withoutMore(text, other string) string {
	kept := ""
	for line := range strings.Lines(text) {
		if !strings.Contains(line, `"zh:`) || strings.Contains(other, line) {
			kept += line
		}
	}
	return kept
}

// ensure installs with an Installer and returns the text of the lock file, or "" if it is
// empty.
func (w *world) ensure(t *testing.T) (string, error) {
	t.Helper()
	cfg := load(t, w.system)
	cfg.HTTP = w.http
	lock := &lockfile.File{Header: lockfile.HeaderOpenTofu}
	if w.system.Terraform {
		lock.Header = lockfile.HeaderTerraform
	}
	required := map[addrs.Provider]addrs.ProviderConstraint{w.alpha: addrs.MustParseProviderConstraint("1.2.0")}
	result, err := installer(t, cfg).Ensure(t.Context(), required, lock)
	if result.Lock.Len() == 0 {
		return "", err
	}
	if cfg.PluginCacheDir() != "" {
		err = errors.Join(err, os.RemoveAll(cfg.PluginCacheDir()), os.Mkdir(cfg.PluginCacheDir(), 0o755))
	}
	return string(result.Lock.Bytes()), err
}

// init installs with the CLI and returns the text of the lock file.
func (w *world) init(t *testing.T, program string) (lock, out string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "init", "-no-color", "-input=false")
	cmd.Dir, cmd.Env = w.dir, w.system.Environ
	printed, err := cmd.CombinedOutput()
	text, missing := os.ReadFile(filepath.Join(w.dir, lockfile.Name))
	if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
		t.Fatal(missing)
	}
	return string(text), string(printed), err
}

// unpackDirectory replaces the packed mirror directory by an unpacked one.
func (w *world) unpackDirectory(t *testing.T) {
	t.Helper()
	cfg := load(t, w.system)
	in := installer(t, cfg)
	must.Get(ensure(t, in, w.alpha, nil))(t)
	dir := cfg.Methods()[0].Location
	must.Do(t, errors.Join(os.RemoveAll(dir), os.Rename(in.Dir.Path, dir)))
}
