package lockfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/verify/checksum"
)

type updater = func(context.Context, string, func(*lockfile.File) (*lockfile.File, error)) error

var updaters = map[string]updater{"strict": lockfile.Update, "lenient": lockfile.UpdateLenient}

// merging returns a function for Update that adds a hash to alpha, and returns err.
func merging(t *testing.T, h checksum.Hash, err error) func(*lockfile.File) (*lockfile.File, error) {
	return func(f *lockfile.File) (*lockfile.File, error) {
		merge(t, f, alpha, v1, addrs.ProviderConstraint{}, h)
		return f, err
	}
}

// TestUpdate: what change returns is saved, also beside an error, unless it is nil. No other file stays.
func TestUpdate(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, update := range updaters {
		path := filepath.Join(t.TempDir(), lockfile.Name)
		for _, step := range []struct {
			change func(*lockfile.File) (*lockfile.File, error)
			err    error
			hashes int // -1: no file
		}{
			{func(f *lockfile.File) (*lockfile.File, error) { return f, nil }, nil, -1},
			{func(f *lockfile.File) (*lockfile.File, error) { return f, broken }, broken, -1},
			{merging(t, zh1, nil), nil, 1},
			{merging(t, zh2, broken), broken, 2},
			{func(f *lockfile.File) (*lockfile.File, error) { _, _ = merging(t, zh3, nil)(f); return nil, nil }, nil, 2},
			{func(f *lockfile.File) (*lockfile.File, error) { _, _ = merging(t, zh3, nil)(f); return nil, broken }, broken, 2},
			{func(f *lockfile.File) (*lockfile.File, error) { return merging(t, zh3, nil)(f.Clone()) }, nil, 3},
		} {
			if err := update(t.Context(), path, step.change); err != step.err {
				t.Errorf("%s: Update returned %v, want %v", name, err, step.err)
			}
			entries, want := must.Get(os.ReadDir(filepath.Dir(path)))(t), min(step.hashes+1, 1)
			f := must.Get(lockfile.Load(path))(t)
			if e, _ := f.Get(alpha); len(entries) != want || len(e.Hashes) != max(step.hashes, 0) {
				t.Errorf("%s: %d files, %d hashes; want %d, %d", name, len(entries), len(e.Hashes), want, step.hashes)
			}
		}
	}
}

// TestUpdateOfNothing: a file that would say the same is not touched: neither one with a comment nor a
// link, and also if its directory cannot have a lock. Comments stay in a lenient update.
func TestUpdateOfNothing(t *testing.T) {
	t.Parallel()
	for name, update := range updaters {
		dir, gamma := t.TempDir(), addrs.MustParseProvider("registry.example.com/acme/gamma")
		path, real := filepath.Join(dir, lockfile.Name), filepath.Join(dir, "real")
		commented := strings.Replace(canonical, "  version ", "  # pinned\n  version ", 1)
		must.Do(t, os.WriteFile(real, []byte(commented), 0o600))
		if runtime.GOOS == "windows" {
			path = real
		} else {
			must.Do(t, os.Symlink("real", path))
		}
		must.Do(t, os.Mkdir(path+".lock", 0o700)) // in place of the lock
		before := must.Get(os.Lstat(path))(t)
		err := update(t.Context(), path, func(f *lockfile.File) (*lockfile.File, error) { return f.Clone(), nil })
		after := must.Get(os.Lstat(path))(t)
		if data, _ := os.ReadFile(real); err != nil || !os.SameFile(before, after) || string(data) != commented {
			t.Errorf("%s: Update returned %v, and made\n%s", name, err, data)
		}
		must.Do(t, update(t.Context(), path, func(f *lockfile.File) (*lockfile.File, error) { f.Delete(gamma); return f, nil }))
		if data, _ := os.ReadFile(path); strings.Contains(string(data), "# pinned") != (name == "lenient") || strings.Contains(string(data), gamma.String()) {
			t.Errorf("%s: Update made\n%s", name, data)
		}
	}
}

// TestUpdatesTogether: of concurrent updates none is lost.
func TestUpdatesTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), lockfile.Name)
	const n = 8
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := lockfile.Update(t.Context(), path, merging(t, zh(i), nil)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if e, _ := must.Get(lockfile.Load(path))(t).Get(alpha); len(e.Hashes) != n {
		t.Errorf("%d concurrent updates saved %d hashes", n, len(e.Hashes))
	}
}

// TestUpdateConflict: what a program without the lock, such as the CLI, has written meanwhile stays.
func TestUpdateConflict(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	other := strings.Replace(canonical, "2.0.0", "2.0.1", 1)
	for name, test := range map[string]struct{ before, meanwhile string }{
		"created": {"", other}, "replaced": {canonical, other}, "removed": {canonical, ""}, "same": {canonical, canonical},
	} {
		path := filepath.Join(t.TempDir(), lockfile.Name)
		put := func(text string) {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
			if text != "" {
				must.Do(t, os.WriteFile(path, []byte(text), 0o600))
			}
		}
		put(test.before)
		err := lockfile.Update(t.Context(), path, func(f *lockfile.File) (*lockfile.File, error) {
			put(test.meanwhile)
			return merging(t, zh(99), broken)(f)
		})
		data, _ := os.ReadFile(path)
		if saved := name == "same"; errors.Is(err, lockfile.ErrConflict) == saved || !errors.Is(err, broken) || !saved && string(data) != test.meanwhile {
			t.Errorf("%s: Update returned %v; the file is\n%s", name, err, data)
		}
		if name != "same" && !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %q does not name the file", name, err)
		}
	}
}

// TestUpdateContext: an update that waits for another ends with its context and changes nothing. One
// that has begun saves what it has.
func TestUpdateContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), lockfile.Name)
	ctx, stop := context.WithCancel(t.Context())
	err := lockfile.Update(ctx, path, func(f *lockfile.File) (*lockfile.File, error) {
		stop()
		err := lockfile.Update(ctx, path, func(*lockfile.File) (*lockfile.File, error) {
			t.Error("change was called while another update has the lock")
			return nil, nil
		})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), path) {
			t.Errorf("a waiting Update returned %v, want %v", err, context.Canceled)
		}
		return merging(t, zh1, nil)(f)
	})
	if e, _ := must.Get(lockfile.Load(path))(t).Get(alpha); err != nil || len(e.Hashes) != 1 {
		t.Errorf("Update returned %v, and saved %v", err, e.Hashes)
	}
}

// TestUpdateRefuses: a file that cannot be read is not changed.
func TestUpdateRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), lockfile.Name)
	const bad = "<<<<<<< HEAD\n"
	must.Do(t, os.WriteFile(path, []byte(bad), 0o600))
	for name, update := range updaters {
		err := update(t.Context(), path, func(f *lockfile.File) (*lockfile.File, error) {
			t.Errorf("%s: change was called", name)
			return f, nil
		})
		if data, _ := os.ReadFile(path); err == nil || !strings.HasPrefix(err.Error(), path+":1:1: ") || string(data) != bad {
			t.Errorf("%s: Update returned %v; the file is %q", name, err, data)
		}
		if err := update(t.Context(), filepath.Join(path, "below"), merging(t, zh1, nil)); err == nil {
			t.Errorf("%s: no error for a path through a file", name)
		}
	}
}
