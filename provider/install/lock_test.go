package install_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestWaiting: Install waits for the lock of the CLI, reports it once, and ends with its context.
func TestWaiting(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{})
	d := newDir(t)
	path := filepath.Join(d.Path, home+".lock")
	write(t, filepath.Dir(path), filepath.Base(path), "")
	cli, _ := start(t, role{Hold: path})
	waiting := make(chan struct{})
	var kinds []provider.EventKind
	progress := func(e provider.Event) {
		if e.Kind == provider.EventWaiting {
			close(waiting)
		}
		kinds = append(kinds, e.Kind)
	}
	result := make(chan error)
	go func() {
		_, err := d.Install(t.Context(), o.src, o.pkg, install.Options{Progress: progress})
		result <- err
	}()
	<-waiting
	if n := o.reg.Count(regtest.Archive); n != 0 {
		t.Errorf("%d downloads without the lock", n)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := d.Install(ctx, o.src, o.pkg, install.Options{Progress: func(provider.Event) { cancel(cause) }})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := d.Place(ctx, o.install(t, newDir(t), install.Options{}), true); !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
	// The lock of a dead process is free.
	cli.Process.Kill()
	cli.Wait()
	if err := <-result; err != nil {
		t.Error(err)
	}
	if kinds[0] != provider.EventWaiting || kinds[len(kinds)-1] != provider.EventInstalled {
		t.Errorf("events %q", kinds)
	}
}

// TestInUse: a running program is never written to.
func TestInUse(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // what is open cannot be replaced
	}
	o := newOffer(t, regtest.Provider{})
	d := newDir(t)
	first := o.install(t, d, install.Options{})
	f, err := os.Open(filepath.Join(first.Dir, program))
	must(t, err)
	defer f.Close()
	was, err := io.ReadAll(f)
	must(t, err)
	write(t, first.Dir, "more", "other content")
	o.install(t, d, install.Options{})
	if is, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20)); err != nil || string(is) != string(was) {
		t.Errorf("it was written to: %v", err)
	}
	open, err := f.Stat()
	must(t, err)
	if named, err := os.Stat(f.Name()); err != nil || os.SameFile(open, named) {
		t.Errorf("the package was not replaced: %v", err)
	}
}
