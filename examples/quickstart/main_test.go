package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/examples/program/programtest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
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
	programtest.Program{Name: "quickstart", Run: run, Usage: map[string][]string{
		"demo":  {"acme/terraform-provider-demo"},
		"^1":    {"acme/demo", "^1"},
		"linux": {"-platform", "linux"},
		"quote": {"acme/demo", ">=", "1"},
	}, Fails: map[string][]string{
		os.DevNull:   {"-dir", os.DevNull},
		"plan9_mips": {"-platform", "plan9_mips"},
	}}.Test(t)
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out strings.Builder
	must.Do(t, run(t.Context(), []string{"-dir", dir}, &out, io.Discard))
	for _, want := range []string{
		"provider   registry.example.com/acme/demo, ~> 1.0, for ",
		`services   ["providers.v1"]; providers are at https://registry.example.com/`,
		"versions   5 listed, 1.2.0 is the newest that fits",
		"package    terraform-provider-demo_1.2.0_",
		"signature  signed, by key ",
		"hash       zh:",
		"installed  " + dir,
		`file       "terraform-provider-demo_v1.2.0`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &out)
		}
	}
	archives, _ := filepath.Glob(filepath.Join(dir, "registry.example.com", "acme", "demo", "*"))
	if len(archives) != 1 {
		t.Errorf("the directory contains %v, want one archive", archives)
	}
}

// TestNothingLeft: a failed download leaves no temporary directory.
func TestNothingLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR")) // on Windows
	p := addrs.MustParseProvider("registry.example.com/acme/demo")
	registry := embeddedRegistry(p)
	registry.AddFault(regtest.Fault{Kind: regtest.Signature, Raw: []byte("nonsense")})
	client := &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}}
	pkg := must.Get(provider.Find(t.Context(), client, p, addrs.ProviderConstraint{}, provider.Need{}))(t)
	if err := fetch(t.Context(), client, pkg, "", io.Discard, io.Discard); !errors.Is(err, verify.ErrBadSignature) {
		t.Errorf("%v, want ErrBadSignature", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestPort: a host with a port is a directory, except on Windows.
func TestPort(t *testing.T) {
	t.Parallel()
	pkg := &provider.Package{
		Provider: addrs.MustParseProvider("registry.example.com:8443/acme/demo"),
		Version:  addrs.MustParseVersion("1.0.0"), Platform: addrs.CurrentPlatform(),
	}
	_, _, err := place(t.TempDir(), pkg)
	if runtime.GOOS != "windows" && err != nil || runtime.GOOS == "windows" && (err == nil || !strings.Contains(err.Error(), ":8443")) {
		t.Error(err)
	}
}

// TestProgress: a terminal shows one line, which is removed at the end. A file gets only resumed
// and restarted transfers.
func TestProgress(t *testing.T) {
	t.Parallel()
	events := []progress.Event{
		{Kind: progress.Bytes, Total: 2e6},
		{Kind: progress.Bytes, Bytes: 1e6, Total: 2e6},
		{Kind: progress.Resumed, Bytes: 1e6, Total: 2e6},
		{Kind: progress.Restarted, Total: 2e6, Err: errors.New("it changed")},
		{Kind: progress.Bytes, Bytes: 3e6},
	}
	const notes = "download   resumed at 1000000 bytes\n" +
		"download   restarted at 0 bytes: it changed\n"
	for tty, want := range map[bool]string{
		false: notes,
		true: "\r\x1b[Kdownload     0 % of 2.0 MB" +
			"\r\x1b[Kdownload    50 % of 2.0 MB" +
			"\r\x1b[Kdownload   resumed at 1000000 bytes\n" +
			"\r\x1b[Kdownload   restarted at 0 bytes: it changed\n" +
			"\r\x1b[Kdownload   3.0 MB" +
			"\r\x1b[K",
	} {
		var out strings.Builder
		d := &display{program.Line{W: &out, Terminal: tty}}
		for _, e := range events {
			d.show(e)
		}
		d.line.Clear()
		if out.String() != want {
			t.Errorf("terminal %v:\n%q, want\n%q", tty, &out, want)
		}
	}
}
