package stamp_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tofureg/tofureg/internal/stamp"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify/checksum"
)

// changes are changes of the content. Those of files keep the size and restore the time of modification.
var changes = map[string]func(t *testing.T, x *tree){
	"file rewritten in place": func(t *testing.T, x *tree) {
		restored(t, filepath.Join(x.dir, "program"), func(name string) { write(t, name, "CONTENT") })
	},
	"file replaced by rename": func(t *testing.T, x *tree) {
		restored(t, filepath.Join(x.dir, "program"), func(name string) {
			write(t, x.dir+".new", "CONTENT")
			must.Do(t, os.Rename(x.dir+".new", name))
		})
	},
	"file mapped and stored to": func(t *testing.T, x *tree) {
		restored(t, filepath.Join(x.dir, "program"), func(name string) { mapped(t, name)[0] = 'C' })
	},
	"file added":   func(t *testing.T, x *tree) { write(t, filepath.Join(x.dir, "docs", "more"), "") },
	"file removed": func(t *testing.T, x *tree) { must.Do(t, os.Remove(filepath.Join(x.dir, "docs", "text"))) },
	"file renamed": func(t *testing.T, x *tree) {
		must.Do(t, os.Rename(filepath.Join(x.dir, "docs", "text"), filepath.Join(x.dir, "docs", "TEXT")))
	},
	"two files exchanged": func(t *testing.T, x *tree) {
		must.Do(t, unix.Renameat2(unix.AT_FDCWD, filepath.Join(x.dir, "program"), unix.AT_FDCWD, filepath.Join(x.dir, "docs", "text"), unix.RENAME_EXCHANGE))
	},
	"file made executable": func(t *testing.T, x *tree) { must.Do(t, os.Chmod(filepath.Join(x.dir, "program"), 0o755)) },
	"file cut and restored": func(t *testing.T, x *tree) {
		restored(t, filepath.Join(x.dir, "program"), func(name string) {
			must.Do(t, os.Truncate(name, 1))
			must.Do(t, os.Truncate(name, int64(len("content"))))
		})
	},
	"directory swapped for a link": func(t *testing.T, x *tree) {
		makeTree(t, x.dir+".evil", "CONTENT")
		must.Do(t, os.Rename(x.dir, x.dir+".old"))
		must.Do(t, os.Symlink(x.dir+".evil", x.dir))
	},
	"directory in it swapped for a link": func(t *testing.T, x *tree) {
		must.Do(t, os.Rename(filepath.Join(x.dir, "docs"), x.dir+".docs"))
		must.Do(t, os.Symlink(x.dir+".docs", filepath.Join(x.dir, "docs")))
	},
	"directory exchanged": func(t *testing.T, x *tree) {
		makeTree(t, x.dir+".evil", "CONTENT")
		must.Do(t, unix.Renameat2(unix.AT_FDCWD, x.dir+".evil", unix.AT_FDCWD, x.dir, unix.RENAME_EXCHANGE))
	},
	"written through a hard link elsewhere": func(t *testing.T, x *tree) {
		name := filepath.Join(x.dir, "program")
		restored(t, name, func(string) {
			must.Do(t, os.Link(name, x.dir+".link"))
			write(t, x.dir+".link", "CONTENT")
			must.Do(t, os.Remove(x.dir+".link"))
		})
	},
	"parent renamed and another put in its place": func(t *testing.T, x *tree) {
		parent := filepath.Dir(x.dir)
		makeTree(t, filepath.Join(parent+".evil", "package"), "CONTENT")
		must.Do(t, os.Rename(parent, parent+".old"))
		must.Do(t, os.Rename(parent+".evil", parent))
	},
	"parent made a link": func(t *testing.T, x *tree) {
		parent := filepath.Dir(x.dir)
		makeTree(t, filepath.Join(parent+".evil", "package"), "CONTENT")
		must.Do(t, os.Rename(parent, parent+".old"))
		must.Do(t, os.Symlink(parent+".evil", parent))
	},
}

// restored changes a file and restores its times.
func restored(t *testing.T, name string, change func(name string)) {
	t.Helper()
	info := must.Get(os.Lstat(name))(t)
	change(name)
	must.Do(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
	if after, err := os.Lstat(name); err != nil || !after.ModTime().Equal(info.ModTime()) || after.Size() != info.Size() {
		t.Fatal("size and times were not restored:", after, err)
	}
}

// mapped maps a file for writing until the end of the test. The file is closed.
func mapped(t *testing.T, name string) []byte {
	t.Helper()
	f := must.Get(os.OpenFile(name, os.O_RDWR, 0))(t)
	defer f.Close()
	data := must.Get(unix.Mmap(int(f.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED))(t)
	t.Cleanup(func() { unix.Munmap(data) })
	return data
}

// both runs a test with the memory of a process, and with stamps.
func both(t *testing.T, test func(t *testing.T, x *tree)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, newTree(t))
	})
	t.Run("stamps", func(t *testing.T) {
		t.Parallel()
		test(t, newStamped(t))
	})
}

// TestChanges: changed content is always found.
func TestChanges(t *testing.T) {
	t.Parallel()
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, x *tree) {
				x.want(t, false)
				x.want(t, true)
				change(t, x)
				x.want(t, false)
			})
		})
	}
}

// TestChangedWhileHashed: a result is not kept if the directory changes while it is computed, even if the
// content is the same afterwards.
func TestChangedWhileHashed(t *testing.T) {
	t.Parallel()
	x := newTree(t)
	root := must.Get(os.OpenRoot(x.dir))(t)
	defer root.Close()
	name := filepath.Join(x.dir, "program")
	_, _, err := x.Hash(t.Context(), root, "", func(ctx context.Context, fsys fs.FS) (checksum.Hash, error) {
		write(t, name, "CONTENT")
		h, err := checksum.L1Dir(ctx, fsys)
		restored(t, name, func(name string) { write(t, name, "content") })
		return h, err
	})
	must.Do(t, err)
	disktest.Tick(t, filepath.Dir(x.dir))
	x.want(t, false)
	x.want(t, true)
}

// TestRules: a directory that does not follow the rules is always read.
func TestRules(t *testing.T) {
	t.Parallel()
	program := func(x *tree) string { return filepath.Join(x.dir, "program") }
	chmod := func(name func(*tree) string, mode uint32) func(*testing.T, *tree) {
		return func(t *testing.T, x *tree) { must.Do(t, unix.Chmod(name(x), mode)) }
	}
	top := func(x *tree) string { return x.dir }
	docs := func(x *tree) string { return filepath.Join(x.dir, "docs") }
	parent := func(x *tree) string { return filepath.Dir(x.dir) }
	for name, test := range map[string]struct {
		prepare func(*testing.T, *tree)
		known   bool
	}{
		"as it is":                       {func(*testing.T, *tree) {}, true},
		"for this user only":             {chmod(program, 0o700), true},
		"file writable for the group":    {chmod(program, 0o664), false},
		"file writable for others":       {chmod(program, 0o646), false},
		"package writable for the group": {chmod(top, 0o775), false},
		"package sticky":                 {chmod(top, 0o1777), false},
		"directory writable for others":  {chmod(docs, 0o757), false},
		"parent writable for the group":  {chmod(parent, 0o775), false},
		"parent writable for others":     {chmod(parent, 0o757), false},
		"parent sticky":                  {chmod(parent, 0o1777), true},
		"file of another user": {func(t *testing.T, x *tree) {
			x.System.User = another(t, program(x))
		}, false},
		"parent of another user": {func(t *testing.T, x *tree) {
			x.System.User = another(t, parent(x))
		}, false},
		"file with another name": {func(t *testing.T, x *tree) { must.Do(t, os.Link(program(x), x.dir+".link")) }, false},
		"file with two names in the package": {func(t *testing.T, x *tree) {
			must.Do(t, os.Link(program(x), filepath.Join(x.dir, "same")))
		}, false},
		"symbolic link": {func(t *testing.T, x *tree) { must.Do(t, os.Symlink("program", filepath.Join(x.dir, "link"))) }, false},
		"modified in the future": {func(t *testing.T, x *tree) {
			must.Do(t, os.Chtimes(program(x), time.Time{}, time.Now().Add(time.Hour)))
		}, false},
		"file open for writing": {func(t *testing.T, x *tree) {
			f := must.Get(os.OpenFile(program(x), os.O_WRONLY, 0))(t)
			t.Cleanup(func() { f.Close() })
		}, false},
		"file mapped for writing": {func(t *testing.T, x *tree) { mapped(t, program(x)) }, false},
		"file open for reading": {func(t *testing.T, x *tree) {
			f := must.Get(os.Open(program(x)))(t)
			t.Cleanup(func() { f.Close() })
		}, true},
		"read-only directory": {chmod(docs, 0o555), true},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, x *tree) {
				test.prepare(t, x)
				disktest.Tick(t, filepath.Dir(filepath.Dir(x.dir)))
				x.want(t, false)
				x.want(t, test.known)
			})
		})
	}
}

// another makes the file one of another user, and returns a System.User.
func another(t *testing.T, name string) func() int {
	t.Helper()
	if os.Geteuid() == 0 {
		must.Do(t, os.Chown(name, 12345, -1))
		return nil
	}
	return func() int { return os.Geteuid() + 1 }
}

// TestMappedBefore: while a mapping can change the content without moving a time, nothing is kept.
func TestMappedBefore(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, x *tree) {
		name := filepath.Join(x.dir, "program")
		data := mapped(t, name)
		data[0] = 'C' // the page is dirty now
		disktest.Tick(t, filepath.Dir(x.dir))
		x.want(t, false)
		before := changed(t, name)
		data[0] = 'X'
		if after := changed(t, name); !after.Equal(before) {
			t.Logf("the second store moved the time by %v", after.Sub(before)) // if the page was written back
		}
		x.want(t, false)
		must.Do(t, unix.Munmap(data))
		disktest.Tick(t, filepath.Dir(x.dir))
		x.want(t, false)
		x.want(t, true)
	})
}

// TestReference: a file is young if its time equals that of the new file. Whole seconds say nothing.
func TestReference(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, x *tree) {
		must.Do(t, os.Chmod(filepath.Join(x.dir, "program"), 0o755)) // moves no time of modification
		newest := changed(t, filepath.Join(x.dir, "docs"))
		must.Do(t, filepath.WalkDir(x.dir, func(name string, _ fs.DirEntry, err error) error {
			if at := changed(t, name); at.After(newest) {
				newest = at
			}
			return err
		}))
		for _, test := range []struct {
			reference time.Time
			known     bool
		}{
			{newest.Add(-time.Hour), false}, // the clock was set back
			{newest, false},                 // two writes within one tick
			{newest.Add(time.Minute).Truncate(time.Second), false},
			{newest.Add(time.Nanosecond), true},
		} {
			x.Memory = &stamp.Memory{System: system()}
			must.Do(t, os.RemoveAll(x.stamps))
			x.System.Reference = func(*os.Root) (time.Time, error) { return test.reference, nil }
			x.want(t, false)
			x.want(t, test.known)
		}
		x.Memory = &stamp.Memory{System: system()}
		must.Do(t, os.RemoveAll(x.stamps))
		x.System.Reference = func(*os.Root) (time.Time, error) { return time.Time{}, fs.ErrPermission }
		x.want(t, false)
		x.want(t, false)
	})
}

// TestClock: a result is used for a week, and not if the clock was set back.
func TestClock(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for _, test := range []struct {
		passed time.Duration
		known  bool
	}{{0, true}, {stamp.MaxAge - 1, true}, {stamp.MaxAge, false}, {-1, false}} {
		t.Run(test.passed.String(), func(t *testing.T) {
			both(t, func(t *testing.T, x *tree) {
				now := start
				x.System.Now = func() time.Time { return now }
				x.want(t, false)
				now = now.Add(test.passed)
				x.want(t, test.known)
			})
		})
	}
}

// TestFileSystems: only tested file systems are believed.
func TestFileSystems(t *testing.T) {
	t.Parallel()
	for _, test := range casetest.Read[struct {
		Name  string
		Magic int64
		Known bool
	}](t, "file-systems.txt") {
		x := newTree(t)
		x.System.Statfs = isType(test.Magic)
		x.want(t, false)
		if got := x.hash(t); got != test.Known {
			t.Errorf("%s: an earlier result was used: %t, want %t", test.Name, got, test.Known)
		}
	}
	x := newTree(t)
	x.System.Statfs = func(*os.File) (int64, error) { return unix.EXT4_SUPER_MAGIC, errors.New("statfs failed") }
	x.want(t, false)
	x.want(t, false)
}

// TestRealFileSystem: what the system itself says decides.
func TestRealFileSystem(t *testing.T) {
	t.Parallel()
	x := newTree(t)
	x.System = stamp.System{}
	var stat unix.Statfs_t
	must.Do(t, unix.Statfs(x.dir, &stat))
	x.want(t, false)
	switch uint32(stat.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC:
		x.want(t, true)
	default:
		x.want(t, false)
	}
}

// TestLinks: a directory is known by its own path, not by that of a link to it.
func TestLinks(t *testing.T) {
	t.Parallel()
	x := newTree(t)
	x.want(t, false)
	real := x.dir
	for i := range 3 {
		x.dir = filepath.Join(tempDir(t), fmt.Sprint("link", i))
		must.Do(t, os.Symlink(real, x.dir))
		x.want(t, true)
	}
	renamed := filepath.Join(tempDir(t), "renamed")
	must.Do(t, os.Rename(real, renamed))
	disktest.Tick(t, filepath.Dir(renamed))
	x.dir = renamed
	x.want(t, false)
}

// TestHashedOnce: concurrent calls compute one hash.
func TestHashedOnce(t *testing.T) {
	t.Parallel()
	x := newTree(t)
	var computed, known atomic.Int32
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			root, err := os.OpenRoot(x.dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer root.Close()
			_, at, err := x.Hash(t.Context(), root, "", func(ctx context.Context, fsys fs.FS) (checksum.Hash, error) {
				computed.Add(1)
				return checksum.H1Dir(ctx, fsys)
			})
			if err != nil {
				t.Error(err)
			}
			if !at.IsZero() {
				known.Add(1)
			}
		})
	}
	wg.Wait()
	if computed.Load() != 1 || known.Load() != 99 {
		t.Errorf("100 calls computed %d hashes, and %d used an earlier one; want 1 and 99", computed.Load(), known.Load())
	}
}

// TestFailures: an error is returned and nothing is kept. A waiting call ends with its context.
func TestFailures(t *testing.T) {
	t.Parallel()
	x := newTree(t)
	root := must.Get(os.OpenRoot(x.dir))(t)
	defer root.Close()
	failure := errors.New("read error")
	_, _, err := x.Hash(t.Context(), root, "", func(context.Context, fs.FS) (checksum.Hash, error) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := x.Hash(ctx, root, "", x.compute); !errors.Is(err, context.Canceled) {
			t.Errorf("a call whose context has ended: error %v, want %v", err, context.Canceled)
		}
		return checksum.Hash{}, failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("Hash: error %v, want %v", err, failure)
	}
	x.want(t, false)
}

// TestKnownIsBounded: one directory above the limit evicts another one.
func TestKnownIsBounded(t *testing.T) {
	t.Parallel()
	above := tempDir(t)
	x := &tree{Memory: &stamp.Memory{System: system()}}
	dir := func(i int) string { return filepath.Join(above, fmt.Sprint(i)) }
	for i := range stamp.MaxKnown + 1 {
		must.Do(t, os.Mkdir(dir(i), 0o755))
	}
	disktest.Tick(t, filepath.Dir(above))
	for range 2 {
		for i := range stamp.MaxKnown {
			root := must.Get(os.OpenRoot(dir(i)))(t)
			_, _, err := x.Hash(t.Context(), root, "", x.compute)
			must.Do(t, errors.Join(err, root.Close()))
		}
	}
	if x.hashed != stamp.MaxKnown || x.Known() != stamp.MaxKnown {
		t.Errorf("%d directories twice: %d hashed, %d known; want %[1]d", stamp.MaxKnown, x.hashed, x.Known())
	}
	x.dir = dir(stamp.MaxKnown)
	x.want(t, false)
	x.want(t, true)
	if x.Known() != stamp.MaxKnown {
		t.Errorf("%d directories are known, want %d", x.Known(), stamp.MaxKnown)
	}
}
