package install_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// noteIn returns the path of the only note in a directory.
func noteIn(t *testing.T, d *install.Dir) string {
	t.Helper()
	notes, err := filepath.Glob(filepath.Join(d.Path, ".tofureg", "notes", "*"))
	if err != nil || len(notes) != 1 {
		t.Fatal(notes, err)
	}
	return notes[0]
}

// wantNotes skips the test on systems where notes are ignored.
func wantNotes(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: this system does not tell by its mode who can write to a file")
	}
}

// TestNote: a note that existed before the call is ignored.
func TestNote(t *testing.T) {
	t.Parallel()
	wantNotes(t)
	o := newOffer(t, regtest.Provider{Files: map[string]string{"docs/": ""}})
	d := newDir(t)
	first := o.install(t, d, install.Options{})
	path := noteIn(t, d)
	text := must.Get(os.ReadFile(path))(t)
	// An attacker knows the format of a note and the hashes of the archive.
	write(t, first.Dir, program, "evil")
	evil := h1Of(t, first.Dir)
	var note map[string]any
	must.Do(t, json.Unmarshal(text, &note))
	note["tree"] = evil
	forged := must.Get(json.Marshal(note))(t)
	for _, planted := range [][]byte{forged, text, []byte("null"), []byte("{}"), {}} {
		must.Do(t, os.WriteFile(path, planted, 0o600))
		if done := o.install(t, d, install.Options{}); done.Reused || done.Fetched == 0 {
			t.Errorf("Install trusted the note %s", planted)
		}
		write(t, first.Dir, program, "evil")
	}
	if _, err := d.Lookup(t.Context(), alpha, v1, linux, checksum.NewSet(append(first.Report.Local, o.pkg.SHA256)...)); !errors.Is(err, verify.ErrNotAccepted) {
		t.Errorf("error %v, want %v", err, verify.ErrNotAccepted)
	}
}

// TestNoteWhileWaiting: waiting calls do not download, and each judges the note by its own policy.
func TestNoteWhileWaiting(t *testing.T) {
	t.Parallel()
	wantNotes(t)
	o := newOffer(t, regtest.Provider{Files: map[string]string{"docs/": ""}})
	d := newDir(t)
	path := filepath.Join(d.Path, home+".lock")
	write(t, filepath.Dir(path), filepath.Base(path), "")
	l := must.Get(fsx.AcquireLock(t.Context(), path))(t)
	var waiting, working sync.WaitGroup
	policies := map[string]verify.Policy{
		"strict": {}, "pinned": {Keys: verify.NewKeySet(o.reg.Key().Public())}, "locked": {Accept: checksum.NewSet(o.pkg.SHA256)},
		"another": {Keys: verify.NewKeySet(regtest.NewKey(regtest.KeyOptions{}).Public())},
	}
	var mu sync.Mutex
	fetched := 0
	for name, policy := range policies {
		waiting.Add(1)
		working.Go(func() {
			done, err := d.Install(t.Context(), o.src, o.pkg, install.Options{Policy: policy, Progress: func(e progress.Event) {
				if e.Kind == progress.Waiting {
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

// TestNoteOfOthers: a note of another user that appears while a call waits is ignored.
func TestNoteOfOthers(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(note string) error{
		"writable for all users": func(note string) error { return os.Chmod(note, 0o666) },
		"writable for a group":   func(note string) error { return os.Chmod(note, 0o620) },
		"of another user": func(note string) error {
			if os.Geteuid() == 0 {
				return errors.Join(os.Chown(note, 12345, -1), os.Chmod(note, 0o644))
			}
			return os.Chmod(note, 0o602)
		},
		"about another package": func(note string) error {
			text, err := os.ReadFile(note)
			other := bytes.Replace(text, []byte(home), []byte("registry.example.com/acme/beta/1.2.0/linux_amd64"), 1)
			if bytes.Equal(text, other) {
				return errors.New("the note does not name its package")
			}
			return errors.Join(err, os.WriteFile(note, other, 0o600))
		},
		"a link": func(note string) error {
			target := filepath.Join(filepath.Dir(note), "target")
			return errors.Join(os.Rename(note, target), os.Symlink("target", note))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffer(t, regtest.Provider{Files: map[string]string{"docs/": ""}})
			d := newDir(t)
			first := o.install(t, d, install.Options{})
			l := must.Get(fsx.AcquireLock(t.Context(), first.Dir+".lock"))(t)
			done := waitingInstall(t, o, d)
			write(t, first.Dir, program, "evil")
			forgeNote(t, noteIn(t, d), first, plant)
			l.Release()
			if got := <-done; got == nil || got.Fetched == 0 {
				t.Errorf("Install trusted the note: %+v", got)
			}
		})
	}
}

// waitingInstall starts an installation and returns when it waits for the lock.
func waitingInstall(t *testing.T, o *offer, d *install.Dir) <-chan *install.Installed {
	t.Helper()
	waiting, result := make(chan bool), make(chan *install.Installed, 1)
	go func() {
		done, err := d.Install(t.Context(), o.src, o.pkg, install.Options{Progress: func(e progress.Event) {
			if e.Kind == progress.Waiting {
				close(waiting)
			}
		}})
		if err != nil {
			t.Error(err)
		}
		result <- done
	}()
	<-waiting
	return result
}

// forgeNote changes the note so that it covers the present content of the package.
func forgeNote(t *testing.T, path string, pkg *install.Installed, plant func(string) error) {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	var note map[string]any
	must.Do(t, json.Unmarshal(text, &note))
	note["tree"] = h1Of(t, pkg.Dir)
	note["once"] = "again"
	must.Do(t, os.WriteFile(path, must.Get(json.Marshal(note))(t), 0o600))
	must.Do(t, plant(path))
}

// TestNoteInPlaceOfALink: a note is not written through a planted link, which may lead to the
// program of another package.
func TestNoteInPlaceOfALink(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(victim, at string) error{
		"symlink": func(_, at string) error { return os.Symlink("../../other/program", at) }, "hard link": os.Link,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDir(t)
			newOffer(t, regtest.Provider{}).install(t, d, install.Options{})
			note := noteIn(t, d)
			must.Do(t, os.RemoveAll(filepath.Join(d.Path, "registry.example.com")))
			victim := write(t, d.Path, "other/program", "running")
			must.Do(t, errors.Join(os.Remove(note), plant(victim, note)))
			newOffer(t, regtest.Provider{}).install(t, d, install.Options{})
			if text, err := os.ReadFile(victim); err != nil || string(text) != "running" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}
