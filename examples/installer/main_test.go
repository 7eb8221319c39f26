package main

import (
	"errors"
	"github.com/tofureg/tofureg/failure"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/examples/program/programtest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// TestMain lets the test binary be the program itself.
func TestMain(m *testing.M) { programtest.Main(m, main) }

// TestArguments checks bad input, and how the program ends.
func TestArguments(t *testing.T) {
	t.Parallel()
	broken := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(broken, lockfile.Name), []byte("nonsense {\n}\n"), 0o600))
	programtest.Program{Name: "installer", Run: run, Usage: map[string][]string{
		"demo":  {"acme/terraform-provider-demo"},
		"^1":    {"acme/demo@^1"},
		"linux": {"-platform", "linux"},
	}, Fails: map[string][]string{
		lockfile.Name + ":1:1": {"-dir", broken},
	}}.Test(t)
}

// TestEmbedded: the first run installs and locks, and the second run finds everything installed.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	dir, cache := t.TempDir(), t.TempDir()
	args := []string{"-dir", dir, "-cache", cache, "-platform", "linux_riscv64"}
	var first, second strings.Builder
	must.Do(t, run(t.Context(), args, &first, io.Discard))
	must.Do(t, run(t.Context(), args, &second, io.Discard))
	for _, test := range []struct{ out, want string }{
		{first.String(), "hashed     registry.example.com/acme/cloud 1.1.0 for linux_riscv64\n"},
		{first.String(), "installed  registry.example.com/acme/cloud 1.1.0\n"},
		{first.String(), "ready      registry.example.com/acme/dns 1.1.0, signed, from source: " + dir},
		{first.String(), "written    " + filepath.Join(dir, lockfile.Name)},
		{second.String(), "ready      registry.example.com/acme/random 1.1.0, accepted, from dir: " + dir},
		{second.String(), "unchanged  " + filepath.Join(dir, lockfile.Name)},
	} {
		if !strings.Contains(test.out, test.want) {
			t.Errorf("output lacks %q:\n%s", test.want, test.out)
		}
	}
	lock, err := lockfile.LoadExisting(filepath.Join(dir, lockfile.Name))
	if err != nil || lock.Len() != 3 {
		t.Errorf("%d providers are locked, %v", lock.Len(), err)
	}
}

// TestBuiltIn: a provider that is built into the CLI needs no package.
func TestBuiltIn(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	must.Do(t, run(t.Context(), []string{"-dir", t.TempDir(), "terraform.io/builtin/terraform"}, &out, io.Discard))
	if want := "ready      terraform.io/builtin/terraform, part of the CLI\n"; !strings.Contains(out.String(), want) {
		t.Errorf("output lacks %q:\n%s", want, out.String())
	}
}

// TestPartly: after a failure, the installed providers are locked, and the next run downloads only
// the missing one.
func TestPartly(t *testing.T) {
	t.Parallel()
	o := must.Get(parseArgs([]string{"-dir", t.TempDir()}, io.Discard))(t)
	registry := embeddedRegistry(o)
	source := &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client(), Retries: -1}}
	registry.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "dns", Status: 404})
	var out strings.Builder
	if err := ensure(t.Context(), o, source, &out); !errors.Is(err, failure.ErrNotFound) || strings.Contains(out.String(), "ready      registry.example.com/acme/dns") {
		t.Errorf("%v\n%s", err, &out)
	}
	registry.ClearFaults()
	registry.Reset()
	if err := ensure(t.Context(), o, source, &out); err != nil || registry.Count(regtest.Archive) != 1 {
		t.Errorf("%v, %d archives, want the missing one", err, registry.Count(regtest.Archive))
	}
}

// TestRequirements: if a provider is named twice, both constraints apply.
func TestRequirements(t *testing.T) {
	t.Parallel()
	got := must.Get(parseRequirements([]string{"acme/demo@>= 1.0", "acme/demo@< 2.0", "acme/other"}))(t)
	if c := got[addrs.MustParseProvider("acme/demo")].String(); c != ">= 1.0.0, < 2.0.0" || len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// TestProgress: on a terminal, the last line shows the progress. In a file there are only lines of
// finished packages.
func TestProgress(t *testing.T) {
	t.Parallel()
	p, v, linux := addrs.MustParseProvider("example.com/acme/demo"), addrs.MustParseVersion("1.0.0"), addrs.MustParsePlatform("linux_amd64")
	event := func(kind provider.EventKind, bytes, total int64, err error) provider.Event {
		return provider.Event{Kind: kind, Provider: p, Version: v, Platform: linux, Bytes: bytes, Total: total, Err: err}
	}
	events := []provider.Event{
		event(provider.EventBytes, 0, 2e6, nil),
		event(provider.EventBytes, 1e6, 2e6, nil),
		event(provider.EventRestarted, 0, 2e6, errors.New("it changed")),
		event(provider.EventHashed, 2e6, 2e6, nil),
		event(provider.EventInstalled, 2e6, 2e6, nil),
	}
	const hashed, installed = "hashed     example.com/acme/demo 1.0.0 for linux_amd64\n", "installed  example.com/acme/demo 1.0.0\n"
	for tty, want := range map[bool]string{
		false: hashed + installed,
		true: "\r\x1b[K0 of 2 providers, 0.0 of 2.0 MB" +
			"\r\x1b[K0 of 2 providers, 1.0 of 2.0 MB" +
			"\r\x1b[K0 of 2 providers, 0.0 of 2.0 MB" +
			"\r\x1b[K" + hashed + "\r\x1b[K0 of 2 providers, 0.0 of 2.0 MB" +
			"\r\x1b[K" + installed + "\r\x1b[K1 of 2 providers, 0.0 of 2.0 MB" +
			"\r\x1b[K",
	} {
		var out strings.Builder
		d := newDisplay(&out, 2)
		d.line.Terminal = tty
		for _, e := range events {
			d.show(e)
		}
		d.line.Clear()
		if out.String() != want {
			t.Errorf("terminal %v:\n%q, want\n%q", tty, &out, want)
		}
	}
}
