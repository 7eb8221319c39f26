//go:build unix

package cliconfig_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
)

// marker is a configuration with an error, which shows that it was read.
const marker = `host "bad host!" {}`

// What becomes of a configuration file.
const (
	isRead    = "read"
	isEmpty   = "empty, without a warning"
	isIgnored = "ignored with a warning"
	isRefused = "refused"
)

// places are the paths of configuration files in the home directory. TF_CLI_CONFIG_FILE names the first.
var places = []string{"named.tfrc", ".terraformrc", ".terraform.d/a.tfrc"}

// An oddFile is a file at these places.
type oddFile struct {
	create func(t *testing.T, path string)
	here   [3]string // what becomes of it at each place
	theirs [3]string // in the CLI, if that differs; "-" is not tried
}

var oddFiles = map[string]oddFile{
	"file":          {create: createMarker, here: [3]string{isRead, isRead, isRead}},
	"link":          {create: linkTo("target"), here: [3]string{isRead, isRead, isRead}},
	"missing":       {create: func(*testing.T, string) {}, here: [3]string{isIgnored, isEmpty, isEmpty}},
	"dangling link": {create: linkTo("nowhere"), here: [3]string{isIgnored, isEmpty, isRefused}},
	"link below a file": { // terraform warns at the second place, tofu does not
		create: linkTo("target/x"), here: [3]string{isIgnored, isEmpty, isRefused}, theirs: [3]string{"", "-", ""},
	},
	"null":      {create: linkTo(os.DevNull), here: [3]string{isEmpty, isEmpty, isEmpty}},
	"directory": {create: func(t *testing.T, path string) { must.Do(t, os.Mkdir(path, 0o755)) }, here: [3]string{isRefused, isRefused, isRefused}},
	"endless device": {
		create: linkTo("/dev/zero"), here: [3]string{isRefused, isRefused, isRefused}, theirs: [3]string{"-", "-", "-"},
	},
	"socket": { // the CLI says that it does not exist
		create: createSocket, here: [3]string{isRefused, isRefused, isRefused}, theirs: [3]string{isIgnored, isIgnored},
	},
	"loop of links": {
		create: func(t *testing.T, path string) { must.Do(t, os.Symlink(path, path)) },
		here:   [3]string{isRefused, isIgnored, isRefused}, theirs: [3]string{isIgnored, "-"}, // terraform warns, tofu does not
	},
	"named pipe": { // the CLI opens it twice, which a writer may not survive
		create: createPipe, here: [3]string{isRead, isRead, isRead}, theirs: [3]string{"-", "-", "-"},
	},
}

func createMarker(t *testing.T, path string) { write(t, path, marker) }

func linkTo(target string) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		createMarker(t, filepath.Join(filepath.Dir(path), "target"))
		must.Do(t, os.Symlink(target, path))
	}
}

func createSocket(t *testing.T, path string) {
	dir := must.Get(os.MkdirTemp("", ""))(t) // a socket is created by a path of about 100 bytes
	t.Cleanup(func() { os.RemoveAll(dir) })
	l := must.Get(net.Listen("unix", filepath.Join(dir, "socket")))(t)
	t.Cleanup(func() { l.Close() })
	must.Do(t, os.Rename(filepath.Join(dir, "socket"), path))
}

// createPipe creates a pipe with a writer, which waits for the reader.
func createPipe(t *testing.T, path string) {
	must.Do(t, disktest.Mkfifo(path))
	go func() {
		if err := os.WriteFile(path, []byte(marker), 0); err != nil {
			t.Errorf("write to the pipe: %v", err)
		}
	}()
}

// TestOddFiles loads configurations from files of all types, at all places. What exists is read or
// refused. What does not exist is ignored, as in the CLI.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	for name, c := range oddFiles {
		for i := range places {
			sys := c.home(t, i)
			config, err := cliconfig.Load(t.Context(), sys)
			warnings := ""
			if err == nil {
				warnings = fmt.Sprint(config.Warnings())
			}
			if got := becomes(err, warnings); got != c.here[i] {
				t.Errorf("%s at %s: %s, want %s (Load: %v, warnings %s)", name, places[i], got, c.here[i], err, warnings)
			}
		}
	}
}

// home returns a system with the file at one of the places.
func (c oddFile) home(t *testing.T, place int) cliconfig.System {
	t.Helper()
	sys := cliconfig.System{Home: t.TempDir()}
	path := filepath.Join(sys.Home, places[place])
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if place == 0 {
		sys.Environ = []string{"TF_CLI_CONFIG_FILE=" + path}
	}
	c.create(t, path)
	return sys
}

// becomes returns what has become of a configuration file, from an error and the warnings.
func becomes(err error, warnings string) string {
	switch {
	case err != nil && strings.Contains(err.Error(), "hostname"):
		return isRead
	case err != nil:
		return isRefused
	case strings.Contains(warnings, "cannot be opened"), strings.Contains(warnings, "Unable to open"):
		return isIgnored
	}
	return isEmpty
}

// TestRealOddFiles gives the same files to the CLIs.
func TestRealOddFiles(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		for name, c := range oddFiles {
			for i, want := range c.here {
				if c.theirs[i] != "" {
					want = c.theirs[i]
				}
				if want == "-" {
					continue
				}
				t.Run(fmt.Sprintf("%s at %s", name, places[i]), func(t *testing.T) {
					sys := c.home(t, i)
					if got, said := runCLI(t, program, sys, nil); got != want {
						t.Errorf("%s, want %s: %s", got, want, said)
					}
				})
			}
		}
		r, w := pipe(t)
		must.Get(w.WriteString(marker))(t)
		must.Do(t, w.Close())
		sys := cliconfig.System{Home: t.TempDir(), Environ: []string{"TF_CLI_CONFIG_FILE=/dev/fd/3"}}
		if got, said := runCLI(t, program, sys, r); got != isRead {
			t.Errorf("a pipe: %s, want %s: %s", got, isRead, said)
		}
	})
}

// runCLI runs a CLI, with extra as its descriptor 3 unless it is nil.
func runCLI(t *testing.T, program string, sys cliconfig.System, extra *os.File) (becomesOf, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "version")
	cmd.Dir = sys.Home
	cmd.Env = append([]string{"HOME=" + sys.Home, "CHECKPOINT_DISABLE=1"}, sys.Environ...)
	if extra != nil {
		cmd.ExtraFiles = []*os.File{extra}
	}
	out, err := cmd.CombinedOutput()
	if err == nil && strings.Contains(string(out), "Error: ") {
		err = errors.New(string(out)) // this command reports errors and still succeeds
	}
	return becomes(err, string(out)), string(out)
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	must.Do(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// TestPipe reads the configuration from /dev/fd/N, which is <(script) in a shell. It can be read once.
func TestPipe(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	sys := cliconfig.System{Home: t.TempDir(), Environ: []string{fmt.Sprintf("TF_CLI_CONFIG_FILE=/dev/fd/%d", r.Fd())}}
	must.Get(w.WriteString(`provider_installation { network_mirror { url = "https://mirror.example.com/" } }`))(t)
	must.Do(t, w.Close())
	config := load(t, sys)
	if methods := config.Methods(); len(methods) != 1 || methods[0].Kind != "network_mirror" || len(config.Warnings()) > 0 {
		t.Errorf("methods %v, warnings %v; want those of the pipe", methods, config.Warnings())
	}
	if _, err := cliconfig.Load(t.Context(), sys); err == nil || !strings.Contains(err.Error(), "the pipe ended without a byte") {
		t.Errorf("the second Load: %v, want an error about an empty pipe", err)
	}
}

// TestPipeEndsWithTheContext: Load waits neither for a writer nor for its end beyond the context.
func TestPipeEndsWithTheContext(t *testing.T) {
	t.Parallel()
	slow, w := pipe(t)
	must.Get(w.WriteString(`provider_installation {`))(t)
	sys := cliconfig.System{Home: t.TempDir(), Environ: []string{fmt.Sprintf("TF_CLI_CONFIG_FILE=/dev/fd/%d", slow.Fd())}}
	wantEnded(t, "a slow writer", sys)
	for _, place := range places {
		sys := cliconfig.System{Home: t.TempDir()}
		path := write(t, filepath.Join(sys.Home, place), "")
		must.Do(t, os.Remove(path))
		must.Do(t, disktest.Mkfifo(path))
		if place == places[0] {
			sys.Environ = []string{"TF_CLI_CONFIG_FILE=" + path}
		}
		wantEnded(t, place+" without a writer", sys)
	}
}

func wantEnded(t *testing.T, name string, sys cliconfig.System) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := cliconfig.Load(ctx, sys); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s: Load: %v, want the end of the context", name, err)
	}
}
