package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/examples/program/programtest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestMain makes the test program the program itself.
func TestMain(m *testing.M) { programtest.Main(m, main) }

// TestArguments checks bad input, and how the program ends.
func TestArguments(t *testing.T) {
	t.Parallel()
	programtest.Program{Name: "login", Run: run, Usage: map[string][]string{
		"bad..host":            {"bad..host"},
		"at most one host":     {"a.example.com", "b.example.com"},
		"-logout needs a host": {"-logout"},
	}, Fails: map[string][]string{
		os.DevNull: {"-file", os.DevNull},
	}}.Test(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ended, []string{"-file", os.DevNull}, io.Discard, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// TestEmbedded logs in and out.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "credentials.tfrc.json")
	file, host := auth.CredentialsFile{Path: path}, svchost.MustParse("registry.example.com")
	var out strings.Builder
	must.Do(t, run(t.Context(), []string{"-file", path}, &out, io.Discard))
	token, err := file.Token(t.Context(), host)
	if err != nil || token.IsZero() {
		t.Fatalf("the file has %v, %v", token, err)
	}
	for _, want := range []string{
		"host       registry.example.com\n",
		"page       https://registry.example.com/oauth/authorization?",
		"token      [redacted], valid until 2",
		"saved      in " + file.String(),
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), token.Reveal()) {
		t.Errorf("the token is in the output:\n%s", &out)
	}
	must.Do(t, run(t.Context(), []string{"-file", path, "-logout", "registry.example.com"}, &out, io.Discard))
	if token, err := file.Token(t.Context(), host); err != nil || !token.IsZero() || !strings.Contains(out.String(), "forgotten  in "+file.String()) {
		t.Errorf("after logout the file has %v, %v:\n%s", token, err, &out)
	}
}

// TestNothingLeft checks that a login without -file writes no files.
func TestNothingLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR")) // on Windows
	must.Do(t, run(t.Context(), nil, io.Discard, io.Discard))
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("the temporary directory has %v, %v; want no files", left, err)
	}
}

// TestVisit checks that the URL is printed, and that a missing browser is not an error.
func TestVisit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: rundll32 always exists")
	}
	t.Setenv("PATH", t.TempDir())
	for browser, want := range map[bool]string{
		false: "page       please log in at\n           https://registry.example.com/\n",
		true:  "please open the page yourself\n",
	} {
		var out strings.Builder
		if err := visit("https://registry.example.com/", browser, &out); err != nil || !strings.HasSuffix(out.String(), want) {
			t.Errorf("browser %t: %v, %q", browser, err, &out)
		}
	}
	if cmd := opener("https://registry.example.com/?a&b"); cmd.Args[len(cmd.Args)-1] != "https://registry.example.com/?a&b" {
		t.Errorf("the URL is not one argument: %q", cmd.Args)
	}
}

// TestLikeCLI logs out without -file, with the store of the user's configuration.
func TestLikeCLI(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE", "AppData"} {
		t.Setenv(name, home)
	}
	for _, name := range []string{"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	dir := filepath.Join(home, ".terraform.d")
	if runtime.GOOS == "windows" {
		dir = filepath.Join(home, "terraform.d")
	}
	host, file := svchost.MustParse("registry.example.com"), auth.CredentialsFile{Path: filepath.Join(dir, "credentials.tfrc.json")}
	token := must.Get(auth.NewToken("x"))(t)
	must.Do(t, file.Save(t.Context(), host, token))
	var out strings.Builder
	must.Do(t, run(t.Context(), []string{"-logout", host.String()}, &out, io.Discard))
	if left, err := file.Token(t.Context(), host); err != nil || !left.IsZero() || !strings.Contains(out.String(), file.String()) {
		t.Errorf("%v, %v\n%s", left, err, &out)
	}
	// Programs do not change other files.
	block := "credentials \"registry.example.com\" {\n  token = \"x\"\n}\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "own.tfrc"), []byte(block), 0o600))
	if err := run(t.Context(), []string{"-logout", host.String()}, io.Discard, io.Discard); !errors.Is(err, cliconfig.ErrNotWritable) {
		t.Errorf("%v, want ErrNotWritable", err)
	}
}

func TestUntil(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 21, 6, 0, 0, 0, time.UTC)
	if got := until(time.Time{}) + ", " + until(at); got != "until it is revoked, until 2026-11-21T06:00:00Z" {
		t.Error(got)
	}
}
