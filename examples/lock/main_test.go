package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/examples/program/programtest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) { programtest.Main(m, main) }

// TestArguments checks bad input, and how the program ends.
func TestArguments(t *testing.T) {
	t.Parallel()
	programtest.Program{Name: "lock", Run: run, Usage: map[string][]string{
		"a/b/c/d": {"a/b/c/d"},
		"^1":      {"acme/dns@^1"},
		"amiga":   {"-platform", "amiga"},
	}, Fails: map[string][]string{
		"locks nothing": {"-lockfile", filepath.Join(t.TempDir(), "new")},
	}}.Test(t)
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	for how, args := range map[string][]string{"computed": nil, "stated": {"-stated"}} {
		var out strings.Builder
		must.Do(t, run(t.Context(), args, &out, io.Discard))
		for _, want := range []string{
			"locked   registry.opentofu.org/acme/cloud 1.1.0 darwin_arm64, signed, " + how + "\n",
			"locked   registry.opentofu.org/acme/dns 1.1.0 windows_amd64, signed, " + how + "\n",
			lockfile.HeaderOpenTofu + "\n\nprovider \"registry.opentofu.org/acme/cloud\" {\n  version     = \"1.1.0\"\n  constraints = \"~> 1.0\"\n  hashes = [\n    \"h1:",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("output lacks %q:\n%s", want, &out)
			}
		}
		if h1, zh := strings.Count(out.String(), `"h1:`), strings.Count(out.String(), `"zh:`); h1 != 2*5 || zh != 2*5 {
			t.Errorf("%d h1 and %d zh:\n%s", h1, zh, &out)
		}
	}
}

// TestUpdate: an entry gets more platforms and keeps its version and comments. The store saves the
// second download.
func TestUpdate(t *testing.T) {
	t.Parallel()
	registry := regtest.New("registry.example.com")
	for _, version := range []string{"1.0.0", "1.1.0", "2.0.0"} {
		registry.AddProvider(regtest.Provider{Address: "acme/dns", Version: version})
	}
	client := &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}
	dir := t.TempDir()
	file := filepath.Join(dir, lockfile.Name)
	const old = "# Ours.\n\n# Do not upgrade.\nprovider \"registry.example.com/acme/dns\" {\n  version = \"1.0.0\"\n}\n"
	must.Do(t, os.WriteFile(file, []byte(old), 0o644))
	lock := func(downloads int, args ...string) string {
		t.Helper()
		o := must.Get(parseArgs(append([]string{"-lockfile", file, "-store", filepath.Join(dir, "store")}, args...), io.Discard))(t)
		registry.Reset()
		must.Do(t, update(t.Context(), o, client, io.Discard, io.Discard))
		if n := registry.Count(regtest.Archive); n != downloads {
			t.Errorf("%q: %d downloads, want %d", args, n, downloads)
		}
		return string(must.Get(os.ReadFile(file))(t))
	}
	first := lock(3)
	if !strings.HasPrefix(first, strings.TrimSuffix(old, "}\n")) || strings.Count(first, `"h1:`) != 3 {
		t.Errorf("the file became\n%s", first)
	}
	second := lock(1, "-platform", "linux_amd64", "-platform", "linux_arm64")
	if strings.Count(second, `"h1:`) != 4 {
		t.Errorf("the file became\n%s", second)
	}
	if again := lock(0, "-platform", "linux_amd64", "registry.example.com/acme/dns@< 2.0"); !strings.Contains(again, `"1.0.0"`) || strings.Count(again, `"h1:`) != 4 {
		t.Errorf("the file became\n%s", again)
	}
	if upgraded := lock(1, "-upgrade", "-platform", "linux_amd64", "registry.example.com/acme/dns@~> 2.0"); !strings.Contains(upgraded, `"2.0.0"`) || strings.Count(upgraded, `"h1:`) != 1 {
		t.Errorf("the file became\n%s", upgraded)
	}
	if named := lock(0, "-platform", "linux_amd64", "registry.example.com/acme/dns"); !strings.Contains(named, `"~> 2.0"`) {
		t.Errorf("the constraint is gone:\n%s", named)
	}
}

// TestIncomplete: without the hashes of all platforms, the file is unchanged. A version that
// lacks a platform is not chosen.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	registry := regtest.New("registry.example.com")
	registry.AddProvider(regtest.Provider{Address: "acme/dns"})
	registry.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "darwin_arm64", Status: 404})
	o := options{
		file:      filepath.Join(t.TempDir(), lockfile.Name),
		providers: []lockfile.Entry{{Provider: addrs.MustParseProvider("registry.example.com/acme/dns")}},
		platforms: []addrs.Platform{addrs.MustParsePlatform("linux_amd64"), addrs.MustParsePlatform("darwin_arm64")},
	}
	var out strings.Builder
	err := update(t.Context(), o, &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}, &out, io.Discard)
	if !errors.Is(err, failure.ErrNotFound) || !strings.Contains(out.String(), "linux_amd64, signed") {
		t.Errorf("%v\n%s", err, &out)
	}
	o.platforms[1] = addrs.MustParsePlatform("plan9_mips")
	if err := update(t.Context(), o, &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}, &out, io.Discard); !errors.Is(err, provider.ErrNoPlatform) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(o.file); !os.IsNotExist(err) {
		t.Errorf("the file was written: %v", err)
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	for tty, want := range map[bool]string{
		false: "store    disk full\n",
		true:  "\r\x1b[Klock     1 of 2 packages\r\x1b[Kstore    disk full\n\r\x1b[Klock     1 of 2 packages\r\x1b[Klock     2 of 2 packages\r\x1b[K",
	} {
		var out strings.Builder
		d := &display{line: program.Line{W: &out, Terminal: tty}, total: 2}
		d.show(provider.Event{Kind: provider.EventHashed})
		d.show(provider.Event{Kind: provider.EventStoreFailed, Err: errors.New("disk full")})
		d.show(provider.Event{Kind: provider.EventHashed})
		d.line.Clear()
		if out.String() != want {
			t.Errorf("terminal %v: %q, want %q", tty, &out, want)
		}
	}
}

// TestTakenOver: the hashes of a registry that has replaced a locked version are refused.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), lockfile.Name)
	for i, readme := range []string{"good", "evil"} {
		registry := regtest.New("registry.example.com")
		registry.AddProvider(regtest.Provider{Address: "acme/dns", Files: map[string]string{"README": readme}})
		o := must.Get(parseArgs([]string{"-lockfile", file, "-platform", "linux_amd64", "registry.example.com/acme/dns"}, io.Discard))(t)
		err := update(t.Context(), o, &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}, io.Discard, io.Discard)
		if errors.Is(err, verify.ErrOtherRelease) != (i == 1) {
			t.Errorf("%s registry: update returned %v", readme, err)
		}
		if i == 0 {
			continue
		}
		// An entry whose hashes cannot be read accepts no other ones either.
		damaged := "provider \"registry.example.com/acme/dns\" {\n  version = \"1.0.0\"\n  hashes = [\"zh:12\"]\n}\n"
		must.Do(t, os.WriteFile(file, []byte(damaged), 0o644))
		err = update(t.Context(), o, &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}, io.Discard, io.Discard)
		if data, _ := os.ReadFile(file); !errors.Is(err, lockfile.ErrUnreadable) || string(data) != damaged {
			t.Errorf("with unreadable hashes, update returned %v; the file is\n%s", err, data)
		}
	}
}
