//go:build unix

package install_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// lockAsCLI locks a file as the CLI does: with a lock of the process, for which it waits with the
// file open. It does not check whether the file still has its name.
func lockAsCLI(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	fmt.Println("\nopened")
	return syscall.FcntlFlock(f.Fd(), syscall.F_SETLKW, &syscall.Flock_t{Type: syscall.F_WRLCK})
}

// TestLockFileStays: a waiting CLI gets the same lock as later processes, whether the installation
// succeeds or fails.
func TestLockFileStays(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{})
	for name, failure := range map[string]error{"installed": nil, "failed": errors.New("the source has failed")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDir(t)
			asked, goOn := make(chan struct{}), make(chan struct{})
			first := make(chan error)
			go func() {
				_, err := d.Install(t.Context(), &held{o.src, func() error {
					close(asked)
					<-goOn
					return failure
				}}, o.pkg, install.Options{})
				first <- err
			}()
			<-asked
			cli, lines := startProgram(t, os.Args[0], role{Hold: filepath.Join(d.Path, home+".lock")}, "opened")
			close(goOn)
			if err := <-first; !errors.Is(err, failure) {
				t.Errorf("error %v, want %v", err, failure)
			}
			wantWord(t, lines, "ready")

			// Install waits while the CLI has the lock.
			waiting, working := make(chan struct{}), make(chan struct{})
			second := make(chan error)
			go func() {
				_, err := d.Install(t.Context(), &held{o.src, func() error { close(working); return nil }}, o.pkg, install.Options{
					Progress: func(e progress.Event) {
						if e.Kind == progress.Waiting {
							close(waiting)
						}
					},
				})
				second <- err
			}()
			select {
			case <-waiting:
			case <-working:
				t.Error("two have the lock")
			}
			cli.Process.Kill()
			cli.Wait()
			if err := <-second; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPipeInPlaceOfDirectory: All waits for no pipe, in place of the plugin directory or of one in it.
func TestPipeInPlaceOfDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "registry.example.com", "acme")
	must.Do(t, errors.Join(os.Mkdir(filepath.Dir(pipe), 0o755), disktest.Mkfifo(pipe)))
	for _, path := range []string{dir, pipe} {
		for pkg, err := range (&install.Dir{Path: path}).All() {
			if err == nil {
				t.Errorf("All in %s found %v", path, pkg)
			}
		}
	}
}

// held calls a function before an archive is opened.
type held struct {
	provider.Source
	open func() error
}

func (h *held) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	if err := h.open(); err != nil {
		return nil, err
	}
	return h.Source.Open(ctx, pkg)
}

// cpu returns the CPU time of the process during f in seconds.
func cpu(f func()) float64 {
	before := used()
	f()
	return used() - before
}

func used() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(u.Utime) + seconds(u.Stime)
}
