package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/examples/internal/programtest"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
)

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) { programtest.Main(m, main) }

// TestExitCode: arguments that are wrong print one line and the usage, and exit with code 2.
func TestExitCode(t *testing.T) {
	t.Parallel()
	programtest.Exits(t,
		programtest.Exit{Arg: "acme/terraform-provider-demo", Code: 2, Stderr: "mirror: invalid provider address "},
		programtest.Exit{Arg: "-nope", Code: 2, Stderr: "mirror: flag provided but not defined: -nope"},
		programtest.Exit{Arg: "-help", Code: 0, Stderr: "usage: mirror "},
	)
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "mirror")
	var out strings.Builder
	if err := run(t.Context(), []string{"-dir", dir}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"chosen   registry.example.com/acme/cloud 1.1.0, of 2 versions\n",
		"added    registry.example.com/acme/dns 1.1.0 darwin_arm64, ",
		"filesystem_mirror {", "network_mirror {", dir,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), "added    "); n != 9 {
		t.Errorf("%d packages added, want 9:\n%s", n, &out)
	}
	out.Reset()
	if err := run(t.Context(), []string{"-dir", dir}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "kept     "); n != 9 {
		t.Errorf("%d packages kept the second time, want 9:\n%s", n, &out)
	}
	for _, name := range []string{"index.json", "1.1.0.json", "terraform-provider-random_1.1.0_linux_amd64.zip"} {
		if _, err := os.Stat(filepath.Join(dir, "registry.example.com", "acme", "random", name)); err != nil {
			t.Error(err)
		}
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		want string
	}{
		"address":    {[]string{"a/b/c/d"}, "a/b/c/d"},
		"constraint": {[]string{"acme/dns@^1"}, "^1"},
		"platform":   {[]string{"-platforms", "linux_amd64,amiga"}, "amiga"},
		"flag":       {[]string{"-frob"}, "-frob"},
		"directory":  {[]string{"-dir", filepath.Join(os.DevNull, "x")}, os.DevNull},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			programtest.OneLine(t, run(t.Context(), test.args, io.Discard, io.Discard), test.want)
		})
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	for tty, want := range map[bool]string{
		false: "",
		true:  "\r\x1b[Kmirror   0 of 2 packages\r\x1b[Kmirror   1 of 2 packages\r\x1b[Kmirror   2 of 2 packages\r\x1b[K",
	} {
		var out strings.Builder
		d := &display{w: &out, tty: tty, total: 2}
		d.show(provider.Event{Kind: provider.EventBytes})
		d.show(provider.Event{Kind: provider.EventVerified})
		d.show(provider.Event{Kind: mirrordir.EventKept})
		d.clear()
		if out.String() != want {
			t.Errorf("terminal %v: %q, want %q", tty, &out, want)
		}
	}
}
