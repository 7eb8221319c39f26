//go:build unix

package install_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestNoteOfAnotherUser: of those who share a cache, one who holds the lock of a package
// writes another package there, and a note that it is the signed one. That is believed
// only of the same user, else it is downloaded, and the next note is good again.
func TestNoteOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can give a file to another user")
	}
	o := newOffer(t, regtest.Provider{})
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
	var note map[string]any
	if err := json.Unmarshal(text, &note); err != nil {
		t.Fatal(err)
	}
	write(t, first.Dir, program, "evil")
	if note["tree"], err = first.H1(t.Context()); err != nil {
		t.Fatal(err)
	}
	forged, err := json.Marshal(note)
	if err != nil {
		t.Fatal(err)
	}
	l, err := fsx.AcquireLock(t.Context(), filepath.Join(d.Path, home+".lock"))
	if err != nil {
		t.Fatal(err)
	}
	waited := false
	plant := func(e provider.Event) {
		if e.Kind != provider.EventWaiting {
			return
		}
		waited = true
		if err := os.WriteFile(notes[0], forged, 0o666); err != nil {
			t.Error(err)
		}
		if err := os.Chown(notes[0], 65534, 65534); err != nil {
			t.Error(err)
		}
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
	if done := o.install(t, d, install.Options{Progress: plant}); done.Reused || done.Fetched == 0 || !waited {
		t.Errorf("waited: %v, %+v", waited, done)
	}
	info, err := os.Stat(notes[0])
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("the note is still that of the other user: %v", err)
	}
}
