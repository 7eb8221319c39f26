package install_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// TestWaiting: an installation waits for whoever has the lock that the CLI takes, says so
// once, and ends with its context.
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
	if !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
	// What a process held is free when it has died.
	cli.Process.Kill()
	cli.Wait()
	if err := <-result; err != nil {
		t.Error(err)
	}
	if kinds[0] != provider.EventWaiting || kinds[len(kinds)-1] != provider.EventInstalled {
		t.Errorf("events %q", kinds)
	}
}

// TestNote: what was left in the directory before does not vouch for anything, only what
// is written while a call waits.
func TestNote(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{Files: map[string]string{"docs/": ""}})
	d := newDir(t)
	first := o.install(t, d, install.Options{})
	notes, err := filepath.Glob(filepath.Join(d.Path, ".tofureg", "notes", "*"))
	if err != nil || len(notes) != 1 {
		t.Fatal(notes, err)
	}
	text, err := os.ReadFile(notes[0])
	if err != nil {
		t.Fatal(err)
	}
	// An attacker knows how a note looks, and what the archive should be.
	write(t, first.Dir, program, "evil")
	evil, err := first.H1(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var note map[string]any
	if err := json.Unmarshal(text, &note); err != nil {
		t.Fatal(err)
	}
	note["tree"] = evil
	forged, err := json.Marshal(note)
	if err != nil {
		t.Fatal(err)
	}
	for _, planted := range [][]byte{forged, text, []byte("null"), []byte("{}"), {}} {
		if err := os.WriteFile(notes[0], planted, 0o644); err != nil {
			t.Fatal(err)
		}
		if done := o.install(t, d, install.Options{}); done.Reused || done.Fetched == 0 {
			t.Errorf("%s was believed", planted)
		}
		write(t, first.Dir, program, "evil")
	}
	if _, err := d.Lookup(t.Context(), alpha, v1, linux, append(first.Report.Local, o.pkg.SHA256)); !errors.Is(err, verify.ErrNotAccepted) {
		t.Error(err)
	}
}

// TestNoteWhileWaiting: those who wait for a download do without one, and each judges by
// its own policy what it hears.
func TestNoteWhileWaiting(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{Files: map[string]string{"docs/": ""}})
	d := newDir(t)
	path := filepath.Join(d.Path, home+".lock")
	write(t, filepath.Dir(path), filepath.Base(path), "")
	l, err := fsx.AcquireLock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var waiting, working sync.WaitGroup
	policies := map[string]verify.Policy{
		"strict": {}, "pinned": {Keys: []verify.Key{o.reg.Key().Public()}}, "locked": {Accept: []verify.Hash{o.pkg.SHA256}},
		"another": {Keys: []verify.Key{regtest.NewKey(regtest.KeyOptions{}).Public()}},
	}
	var mu sync.Mutex
	fetched := 0
	for name, policy := range policies {
		waiting.Add(1)
		working.Go(func() {
			done, err := d.Install(t.Context(), o.src, o.pkg, install.Options{Policy: policy, Progress: func(e provider.Event) {
				if e.Kind == provider.EventWaiting {
					waiting.Done()
				}
			}})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case name == "another":
				if !errors.Is(err, verify.ErrUnknownKey) {
					t.Errorf("%s: %v", name, err)
				}
			case err != nil:
				t.Errorf("%s: %v", name, err)
			case done.Fetched > 0:
				fetched++
			case len(done.Report.Local) != 3:
				t.Errorf("%s: %+v", name, done.Report)
			}
		})
	}
	waiting.Wait()
	l.Release()
	working.Wait()
	if fetched != 1 {
		t.Errorf("%d downloads were used", fetched)
	}
}

// TestInUse: a program that is running, or about to, is never written to.
func TestInUse(t *testing.T) {
	t.Parallel()
	o := newOffer(t, regtest.Provider{})
	d := newDir(t)
	first := o.install(t, d, install.Options{})
	f, err := os.Open(filepath.Join(first.Dir, program))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	was, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	write(t, first.Dir, "more", "which makes the package another one")
	o.install(t, d, install.Options{})
	if is, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20)); err != nil || string(is) != string(was) {
		t.Errorf("it was written to: %v", err)
	}
	open, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if named, err := os.Stat(f.Name()); err != nil || os.SameFile(open, named) {
		t.Errorf("the package was not replaced: %v", err)
	}
}
