package stamp_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/stamp"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// only returns the path of the only stamp.
func (x *tree) only(t testing.TB) string {
	t.Helper()
	list := x.files(t)
	if len(list) != 1 {
		t.Fatalf("%d stamps, want 1", len(list))
	}
	return list[0]
}

// TestStampsAreNotKept: what a stamp says is not known to a call without stamps.
func TestStampsAreNotKept(t *testing.T) {
	t.Parallel()
	x := newStamped(t)
	x.want(t, false)
	x.want(t, true) // a new Memory, which has read nothing
	x.stamps = ""
	x.want(t, false)
	x.want(t, true)
}

// TestDamagedStamps: a stamp that is cut anywhere, or has another byte, is not believed.
func TestDamagedStamps(t *testing.T) {
	t.Parallel()
	x := newStamped(t)
	now := time.Now().Round(0) // so that the stamp is always the same
	x.System.Now = func() time.Time { return now }
	x.want(t, false)
	good := must.Get(os.ReadFile(x.only(t)))(t)
	for i := range good {
		other := bytes.Clone(good)
		other[i] ^= 1
		for _, bad := range [][]byte{good[:i], other} {
			must.Do(t, os.WriteFile(x.only(t), bad, 0o600))
			x.want(t, false)
			if text, err := os.ReadFile(x.only(t)); err != nil || !bytes.Equal(text, good) {
				t.Fatalf("the damaged stamp was not replaced: %v", err)
			}
		}
	}
	for _, bad := range [][]byte{append(bytes.Clone(good), 'x'), bytes.Repeat(good, 100), nil, []byte("\n"), []byte("null\n")} {
		must.Do(t, os.WriteFile(x.only(t), bad, 0o600))
		x.want(t, false)
	}
	x.want(t, true)
}

// TestForeignStamps: a stamp is believed for one directory and one boot.
func TestForeignStamps(t *testing.T) {
	t.Parallel()
	boot := func(id string, err error) func() (string, error) {
		return func() (string, error) { return id, err }
	}
	t.Run("copied from another directory", func(t *testing.T) {
		t.Parallel()
		x := newStamped(t)
		x.want(t, false)
		own := x.only(t)
		other := newTree(t)
		other.stamps = filepath.Join(tempDir(t), "stamps")
		makeTree(t, other.dir, "CONTENT")
		other.want(t, false)
		text := must.Get(os.ReadFile(own))(t)
		must.Do(t, os.WriteFile(other.only(t), text, 0o600))
		other.want(t, false)
	})
	t.Run("of a directory at this path before", func(t *testing.T) {
		t.Parallel()
		x := newStamped(t)
		x.want(t, false)
		text := must.Get(os.ReadFile(x.only(t)))(t)
		must.Do(t, os.Remove(x.only(t)))
		must.Do(t, os.Rename(x.dir, x.dir+".old"))
		makeTree(t, x.dir, "CONTENT")
		x.want(t, false)
		must.Do(t, os.WriteFile(x.only(t), text, 0o600))
		x.want(t, false)
	})
	t.Run("of another boot", func(t *testing.T) {
		t.Parallel()
		x := newStamped(t)
		x.System.Boot = boot("one", nil)
		x.want(t, false)
		x.want(t, true)
		x.System.Boot = boot("two", nil)
		x.want(t, false)
		x.want(t, true)
		x.System.Boot = boot("", errors.New("no boot ID"))
		x.want(t, false)
		x.want(t, false)
	})
}

// TestPrivateStamps: a directory that others can access, or a link, is neither read nor written.
func TestPrivateStamps(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(t *testing.T, v1 string)
		known   bool
	}{
		"missing":              {func(*testing.T, string) {}, true},
		"private":              {func(t *testing.T, v1 string) { must.Do(t, os.MkdirAll(v1, 0o700)) }, true},
		"readable for others":  {func(t *testing.T, v1 string) { must.Do(t, os.MkdirAll(v1, 0o700)); must.Do(t, os.Chmod(v1, 0o704)) }, false},
		"writable for a group": {func(t *testing.T, v1 string) { must.Do(t, os.MkdirAll(v1, 0o700)); must.Do(t, os.Chmod(v1, 0o720)) }, false},
		"a link": {func(t *testing.T, v1 string) {
			must.Do(t, os.MkdirAll(v1+".private", 0o700))
			must.Do(t, os.MkdirAll(filepath.Dir(v1), 0o700))
			elsewhere := t.TempDir()
			must.Do(t, os.Chmod(elsewhere, 0o700))
			must.Do(t, os.Symlink(elsewhere, v1))
		}, false},
		"a file": {func(t *testing.T, v1 string) {
			must.Do(t, os.MkdirAll(filepath.Dir(v1), 0o700))
			write(t, v1, "")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newStamped(t)
			test.prepare(t, filepath.Join(x.stamps, "v1"))
			x.want(t, false)
			x.want(t, test.known)
			if got := len(x.files(t)); (got == 1) != test.known {
				t.Errorf("%d stamps were written", got)
			}
		})
	}
}

// TestKilledWriter: the file of a process that was killed before the stamp had its name is removed. A file
// of another kind stays.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	x := newStamped(t)
	x.want(t, false)
	text := must.Get(os.ReadFile(x.only(t)))(t)
	must.Do(t, os.Remove(x.only(t)))
	v1 := filepath.Join(x.stamps, "v1")
	must.Do(t, os.WriteFile(filepath.Join(v1, ".tofureg-abc.part"), text[:len(text)/2], 0o600))
	write(t, filepath.Join(v1, "README"), "")
	x.want(t, false)
	x.want(t, true)
	left := must.Get(os.ReadDir(v1))(t)
	if len(left) != 2 || left[0].Name() != filepath.Base(x.only(t)) && left[1].Name() != filepath.Base(x.only(t)) {
		t.Errorf("the directory has %v, want the stamp and README", left)
	}
}

// TestStampsAreBounded: at the limit all stamps stay. With one more, the oldest are removed, down to seven
// eighths of the limit.
func TestStampsAreBounded(t *testing.T) {
	t.Parallel()
	x := newStamped(t)
	v1 := filepath.Join(x.stamps, "v1")
	must.Do(t, os.MkdirAll(v1, 0o700))
	old := time.Now().Add(-time.Hour)
	for i := range stamp.MaxStamps - 1 {
		name := filepath.Join(v1, fmt.Sprintf("%04d.stamp", i))
		must.Do(t, os.WriteFile(name, nil, 0o600))
		must.Do(t, os.Chtimes(name, old, old.Add(time.Duration(i)*time.Millisecond)))
	}
	x.want(t, false)
	if n := len(x.files(t)); n != stamp.MaxStamps {
		t.Errorf("at the limit %d stamps, want %d", n, stamp.MaxStamps)
	}
	must.Do(t, os.WriteFile(filepath.Join(v1, "9999.stamp"), nil, 0o600))
	makeTree(t, x.dir, "CONTENT")
	x.want(t, false)
	x.want(t, true)
	_, newest := os.Lstat(filepath.Join(v1, "0512.stamp"))
	_, oldest := os.Lstat(filepath.Join(v1, "0513.stamp"))
	if n := len(x.files(t)); n != stamp.MaxStamps*7/8 || newest == nil || oldest != nil {
		t.Errorf("above the limit %d stamps, 0512.stamp: %v, 0513.stamp: %v; want %d, from 0513.stamp", n, newest, oldest, stamp.MaxStamps*7/8)
	}
}

// TestLongPath: a stamp above the limit is not written.
func TestLongPath(t *testing.T) {
	t.Parallel()
	x := newStamped(t)
	now := time.Now().Truncate(time.Second)
	x.System.Now = func() time.Time { return now }
	x.want(t, false)
	info := must.Get(os.Stat(x.only(t)))(t)
	// Longer by a multiple of 100, and then by the rest, so that the inode stays.
	missing := stamp.MaxStamp - int(info.Size())
	above := x.dir + strings.Repeat("/"+strings.Repeat("d", 99), missing/100-1)
	must.Do(t, os.MkdirAll(above, 0o755))
	x.dir = filepath.Join(above, "package")
	makeTree(t, x.dir, "content")
	must.Do(t, os.RemoveAll(x.stamps))
	x.want(t, false)
	info = must.Get(os.Stat(x.only(t)))(t)
	for more, known := range []bool{true, false} {
		name := filepath.Join(above, "package"+strings.Repeat("x", stamp.MaxStamp-int(info.Size())+more))
		must.Do(t, os.Rename(x.dir, name))
		x.dir = name
		must.Do(t, os.RemoveAll(x.stamps))
		disktest.Tick(t, filepath.Dir(x.stamps))
		x.want(t, false)
		if list := x.files(t); (len(list) == 1) != known {
			t.Errorf("a stamp of %d bytes was written: %t, want %t", stamp.MaxStamp+more, !known, known)
		}
		x.want(t, known)
	}
}

// FuzzStamp: damaged files are refused without a panic.
func FuzzStamp(f *testing.F) {
	x := newStamped(f)
	x.want(f, false)
	text, err := os.ReadFile(x.only(f))
	must.Do(f, err)
	f.Add(text)
	f.Add([]byte("null\n37a6259cc0c1dae299a7866489dff0bd"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if stamp.Parse(file) == nil && len(file) > stamp.MaxStamp {
			t.Errorf("accepted a file of %d bytes", len(file))
		}
	})
}
