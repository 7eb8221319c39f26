package fsx_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// TestPublishAs: a part gets a name in another directory of its root, and stays open.
func TestPublishAs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "staging"), 0o700))
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	for _, want := range []string{"old", "new"} {
		p := must.Get(fsx.CreatePartIn(root, "staging", 0o600))(t)
		must.Get(p.WriteString(want))(t)
		must.Do(t, p.PublishAs("file"))
		wantContent(t, filepath.Join(dir, "file"), want)
		if _, err := p.ReadAt(make([]byte, len(want)), 0); err != nil {
			t.Errorf("ReadAt after PublishAs = %v, want an open file", err)
		}
		if err := p.PublishAs("again"); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("second PublishAs = %v, want fs.ErrClosed", err)
		}
		p.Discard()
		wantContent(t, filepath.Join(dir, "file"), want)
	}
	p := must.Get(fsx.CreatePartIn(root, "staging", 0o600))(t)
	if err := p.PublishAs("staging"); !errors.Is(err, fsx.ErrNotAFile) {
		t.Errorf("PublishAs(directory) = %v, want ErrNotAFile", err)
	}
	p.Discard()
	wantNames(t, filepath.Join(dir, "staging"))
	if err := disktest.Symlink(t.TempDir(), filepath.Join(dir, "link")); err != nil {
		t.Skipf("skipped: this link cannot be made here: %v", err)
	}
	if p, err := fsx.CreatePartIn(root, "link", 0o600); err == nil {
		p.Discard()
		t.Error("CreatePartIn(a link that leads out of the root) succeeds")
	}
}

// TestSweep: parts of dead processes are removed, other files stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	live := must.Get(fsx.CreatePart(filepath.Join(dir, "file"), 0o600))(t)
	defer live.Discard()
	liveDir := must.Get(fsx.CreatePartDir(t.Context(), filepath.Join(dir, "x")))(t)
	defer liveDir.Discard(t.Context())
	must.Do(t, os.MkdirAll(filepath.Join(liveDir.Path(), "tree1", "deep"), 0o755))
	dead := must.Get(fsx.CreatePart(filepath.Join(dir, "file"), 0o600))(t)
	must.Do(t, dead.Close()) // as the system does when the process ends
	defer dead.Discard()     // closes the directory

	outside := filepath.Join(t.TempDir(), "precious")
	must.Do(t, os.WriteFile(outside, []byte("x"), 0o600))
	for _, name := range []string{".tofureg-a.part", ".tofureg-0z.part", "other", ".tofureg-x.tmp", ".tofureg-.part", ".tofureg-B.part", ".tofureg-a.part2"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	for _, name := range []string{".tofureg-d.part", ".tofureg-e.part", ".tofureg-f.part"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, name, "tree1", "deep"), 0o755))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, ".tofureg-e.part", "lock"), nil, 0o600))
	if disktest.Symlink(outside, filepath.Join(dir, ".tofureg-l.part")) == nil { // Windows may refuse
		must.Do(t, os.Symlink(outside, filepath.Join(dir, ".tofureg-f.part", "lock"))) // not of our making
	} else {
		must.Do(t, os.WriteFile(filepath.Join(dir, ".tofureg-l.part"), nil, 0o600))
		l := must.Get(fsx.AcquireLock(t.Context(), filepath.Join(dir, ".tofureg-l.part")))(t)
		defer l.Release()
		must.Do(t, os.Mkdir(filepath.Join(dir, ".tofureg-f.part", "lock"), 0o700))
	}

	for range 2 {
		fsx.SweepParts(t.Context(), dir)
	}
	fsx.SweepParts(t.Context(), filepath.Join(dir, "none"))
	want := []string{".tofureg-.part", ".tofureg-B.part", ".tofureg-a.part2", ".tofureg-f.part", ".tofureg-l.part", ".tofureg-x.tmp",
		"other", filepath.Base(live.Name()), filepath.Base(liveDir.Path())}
	entries := must.Get(os.ReadDir(dir))(t)
	got := map[string]bool{}
	for _, e := range entries {
		got[e.Name()] = true
	}
	for _, name := range want {
		if !got[name] {
			t.Errorf("%s was removed", name)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("%v stayed", got)
	}
	wantContent(t, outside, "x")
	if _, err := os.Stat(filepath.Join(liveDir.Path(), "tree1", "deep")); err != nil {
		t.Error(err)
	}
	liveDir.Discard(t.Context())
	if _, err := os.Lstat(liveDir.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the discarded directory is there: %v", err)
	}
}

// TestSlots: a part of a target takes the place of the first eight that dead processes have left of it. What stays are those
// beyond eight at a time, and those of other targets, since nobody reads the directory.
func TestSlots(t *testing.T) {
	t.Parallel()
	count := func(dir string) int { return len(must.Get(os.ReadDir(dir))(t)) }
	for kind, create := range map[string]func(target string) (die, discard func()){
		"file": func(target string) (die, discard func()) {
			p := must.Get(fsx.CreatePart(target, 0o600))(t)
			must.Get(p.WriteString("secret"))(t)
			return func() { p.Close() }, p.Discard
		},
		"directory": func(target string) (die, discard func()) {
			d := must.Get(fsx.CreatePartDir(t.Context(), target))(t)
			must.Do(t, os.MkdirAll(filepath.Join(d.Path(), "tree", "deep"), 0o700))
			return d.Die, func() { d.Discard(t.Context()) }
		},
	} {
		dir := t.TempDir()
		var dies []func()
		for range 9 {
			die, discard := create(filepath.Join(dir, "target"))
			dies = append(dies, die)
			defer discard()
		}
		other, discard := create(filepath.Join(dir, "other"))
		defer discard()
		other()
		if n := count(dir); n != 10 {
			t.Errorf("%s: %d parts of living processes, want 10", kind, n)
		}
		for _, die := range dies {
			die()
		}
		_, discard = create(filepath.Join(dir, "target"))
		if n := count(dir); n != 3 {
			t.Errorf("%s: with a new part there are %d, want 3", kind, n)
		}
		discard()
		if n := count(dir); n != 2 {
			t.Errorf("%s: after it there are %d, want the ninth and that of another target", kind, n)
		}
	}
}

// TestSlotsSpareTheLiving: goroutines write one target, and none loses its part.
func TestSlotsSpareTheLiving(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	var makers sync.WaitGroup
	for range 4 {
		makers.Go(func() {
			for range 50 {
				p, err := fsx.CreatePart(target, 0o600)
				if err == nil {
					_, err = p.WriteString("x")
					err = errors.Join(err, p.PublishAs("target"))
					p.Discard()
				}
				if err != nil {
					t.Errorf("a part: %v", err)
				}
				d, err := fsx.CreatePartDir(t.Context(), target)
				if err != nil {
					t.Errorf("a directory: %v", err)
					return
				}
				if err := os.WriteFile(filepath.Join(d.Path(), "x"), nil, 0o600); err != nil {
					t.Errorf("a file in the directory: %v", err)
				}
				if err := os.Remove(filepath.Join(d.Path(), "x")); err != nil {
					t.Errorf("the file in the directory: %v", err)
				}
				d.Discard(t.Context())
			}
		})
	}
	makers.Wait()
	wantNames(t, dir, "target")
}

// TestSweepSparesTheLiving: goroutines create files and directories while others sweep.
func TestSweepSparesTheLiving(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	done := make(chan struct{})
	var sweepers, makers sync.WaitGroup
	for range 2 {
		sweepers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					fsx.SweepParts(t.Context(), dir)
				}
			}
		})
	}
	for i := range 4 {
		makers.Go(func() {
			target := filepath.Join(dir, string(rune('a'+i)))
			for range 50 {
				p, err := fsx.CreatePart(target, 0o600)
				if err != nil {
					t.Error(err)
					return
				}
				if err := p.Commit(); err != nil {
					t.Error(err)
				}
				d, err := fsx.CreatePartDir(t.Context(), filepath.Join(dir, "x"))
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(d.Path(), "x"), nil, 0o600); err != nil {
					t.Error(err)
				}
				if err := os.Remove(filepath.Join(d.Path(), "x")); err != nil {
					t.Error(err)
				}
				d.Discard(t.Context())
			}
		})
	}
	makers.Wait()
	close(done)
	sweepers.Wait()
	fsx.SweepParts(t.Context(), dir)
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		if strings.HasPrefix(e.Name(), fsx.TempPrefix) {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}
