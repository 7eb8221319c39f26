package mirrordir_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/disktest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
)

var errDead = errors.New("the process is dead")

// dieAt runs a job in a process that dies after some changes, and returns the changes.
func dieAt(t *testing.T, dir string, changes int, job func(m *mirrordir.Mirror) error) (steps []string, died bool) {
	t.Helper()
	m := open(t, dir)
	var mu sync.Mutex
	watched := &mirrortest.WatchedStore{Store: m.Store, Before: func(op, name string) error {
		mu.Lock()
		defer mu.Unlock()
		if op == "write" || op == "delete" {
			changes--
		}
		if changes < 0 {
			return errDead
		}
		if op == "open" || op == "list" || op == "stat" {
			return nil
		}
		kind := "document"
		switch {
		case strings.HasSuffix(name, ".zip"):
			kind = "archive"
		case strings.HasPrefix(path.Base(name), "record_"):
			kind = "record"
		case path.Base(name) == "index.json":
			kind = "index"
		}
		steps = append(steps, op+" "+kind)
		return nil
	}}
	locked := mirrortest.LockedStore{Store: watched, Dir: m.Store.(*storage.Dir)}
	err := job(&mirrordir.Mirror{Store: locked, TempDir: t.TempDir()})
	if died = errors.Is(err, errDead); err != nil && !died {
		t.Fatal(err)
	}
	return steps, died
}

// diedAfter returns a mirror with version 2.0.0 in which an Add of version 1.0.0 for one platform
// has died after a step.
func diedAfter(t *testing.T, step string) (m *mirrordir.Mirror, dir string) {
	t.Helper()
	_, src := newRegistry(t)
	for changes := 1; ; changes++ {
		m, dir = newMirror(t)
		mustAdd(t, m, src, wants(three, v2), mirrordir.AddOptions{})
		steps, died := dieAt(t, dir, changes, func(m *mirrordir.Mirror) error {
			_, err := m.Add(t.Context(), src, wants(three[:1], v1), mirrordir.AddOptions{})
			return err
		})
		if !died {
			t.Fatalf("no step %q before the end; the steps are %q", step, steps)
		}
		if steps[len(steps)-1] == step {
			return m, dir
		}
	}
}

// TestCrashAfterArchive checks that Add accepts the archive with the evidence of the source, and
// that Reindex records it without.
func TestCrashAfterArchive(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	m, _ := diedAfter(t, "write archive")
	if fetched := mustAdd(t, m, src, wants(three[:1], v1), mirrordir.AddOptions{}); fetched != 0 {
		t.Errorf("Add fetches %d archives, want 0", fetched)
	}
	wantGood(t, m)

	m, dir := diedAfter(t, "write archive")
	mustReindex(t, m)
	if got := versionsOf(t, m); got != "1.0.0 2.0.0" {
		t.Errorf("after Reindex the mirror lists %s", got)
	}
	if text := read(t, dir, recordOf(v1, linux)); strings.Contains(text, "sums") {
		t.Errorf("the record has evidence that nothing has brought:\n%s", text)
	}
	if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() || len(report.Notes) > 0 {
		t.Errorf("after Reindex: %+v", report)
	}
}

// TestCrashBeforeIndex checks that the next Add of the version, or Reindex, lists the archive.
func TestCrashBeforeIndex(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	for _, step := range []string{"write record", "write document"} {
		for name, next := range map[string]func(m *mirrordir.Mirror){
			"Add":     func(m *mirrordir.Mirror) { mustAdd(t, m, src, wants(three[:1], v1), mirrordir.AddOptions{}) },
			"Reindex": func(m *mirrordir.Mirror) { mustReindex(t, m) },
		} {
			m, dir := diedAfter(t, step)
			if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
				t.Errorf("after the crash: %v", report.Problems)
			}
			next(m)
			if got := platformsOf(t, m.Store, v1); !slices.Contains(got, linux.String()) {
				t.Errorf("after %s 1.0.0 is listed for %v", name, got)
			}
			if got := versionsOf(t, open(t, dir)); got != "1.0.0 2.0.0" {
				t.Errorf("after %s the index lists %s", name, got)
			}
			wantGood(t, m)
		}
	}
}

// TestCrashWithinRemove checks that, wherever Remove dies, clients see no missing files, Add of
// another version does not list the removed one again once the index is written, Remove completes the removal, and Add of the
// version adds it again.
func TestCrashWithinRemove(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	v3 := addrs.MustParseVersion("3.0.0")
	reg.AddProvider(regtestProvider("3.0.0"))
	src := client(reg)
	for changes := 1; ; changes++ {
		m, dir := newMirror(t)
		mustAdd(t, m, src, wants(three, v1, v2), mirrordir.AddOptions{})
		steps, died := dieAt(t, dir, changes, func(m *mirrordir.Mirror) error { return m.Remove(t.Context(), alpha, v1) })
		if !died {
			want := []string{"write index", "delete document",
				"delete archive", "delete archive", "delete archive", "delete record", "delete record", "delete record"}
			slices.Sort(steps[2:]) // concurrent
			if !slices.Equal(steps, want) {
				t.Errorf("the steps are %q, want %q", steps, want)
			}
			return
		}
		at := fmt.Sprintf("after %d steps, the last %q", changes, steps[len(steps)-1])
		if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
			t.Errorf("%s: %v", at, report.Problems)
		}
		mustAdd(t, m, src, wants(three, v2, v3), mirrordir.AddOptions{})
		want := "2.0.0 3.0.0"
		if !slices.Contains(steps, "write index") {
			want = "1.0.0 2.0.0 3.0.0"
		}
		if got := versionsOf(t, m); got != want {
			t.Errorf("%s: after Add of others the mirror lists %s", at, got)
		}
		if changes%2 == 0 {
			mustAdd(t, m, src, wants(three, v1), mirrordir.AddOptions{})
			wantGood(t, m)
			continue
		}
		if err := m.Remove(t.Context(), alpha, v1); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		for _, name := range files(t, dir) {
			if strings.Contains(name, "1.0.0") {
				t.Errorf("%s: %s is left", at, name)
			}
		}
		wantGood(t, m)
	}
}

// TestCrashWithinReplacement checks that, wherever a replacement dies, the documents are true, and
// that Add downloads the archive again unless the new one is there.
func TestCrashWithinReplacement(t *testing.T) {
	t.Parallel()
	crashWithinReplacement(t, true)
	crashWithinReplacement(t, false) // the document lists an archive without a record
}

func crashWithinReplacement(t *testing.T, recorded bool) {
	t.Helper()
	reg, src := newRegistry(t)
	_, other := otherContent()
	for changes := 1; ; changes++ {
		m, dir := newMirror(t)
		mustAdd(t, m, other, wants(three[:1], v1), mirrordir.AddOptions{})
		mustAdd(t, m, src, wants(three, v2), mirrordir.AddOptions{})
		if !recorded {
			remove(t, dir, recordOf(v1, linux))
		}
		pkg := must.Get(src.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		policy := verify.Policy{Keys: verify.NewKeySet(pkg.Keys...)}
		steps, died := dieAt(t, dir, changes, func(m *mirrordir.Mirror) error {
			_, err := m.Add(t.Context(), src, wants(three[:1], v1), mirrordir.AddOptions{Policy: policyOf(policy)})
			return err
		})
		if !died {
			want := []string{"write index", "delete document", "delete record", "write archive", "write record", "write document", "write index"}
			if !recorded {
				want = slices.Delete(want, 2, 3)
			}
			if !slices.Equal(steps, want) {
				t.Errorf("the steps are %q, want %q", steps, want)
			}
			return
		}
		at := fmt.Sprintf("after %d steps, the last %q", changes, steps[len(steps)-1])
		if report := mustCheck(t, m, mirrordir.CheckOptions{}); !report.OK() {
			t.Errorf("%s: %v", at, report.Problems)
		}
		want := 1
		if slices.Contains(steps, "write archive") {
			want = 0
		}
		reg.Reset()
		if fetched := mustAdd(t, m, src, wants(three[:1], v1), mirrordir.AddOptions{Policy: policyOf(policy)}); fetched != want {
			t.Errorf("%s: Add fetches %d archives, want %d", at, fetched, want)
		}
		if report := mustCheck(t, m, mirrordir.CheckOptions{Policy: policyOf(policy)}); !report.OK() || len(report.Notes) > 0 {
			t.Errorf("%s: in the end %+v", at, report)
		}
	}
}

// TestEndWithinReplacement checks that a replacement is completed if its context ends within it.
func TestEndWithinReplacement(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	_, other := otherContent()
	pkg := must.Get(src.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	policy := verify.Policy{Keys: verify.NewKeySet(pkg.Keys...)}
	for name, add := range map[string]func(ctx context.Context, m *mirrordir.Mirror) error{
		"Add": func(ctx context.Context, m *mirrordir.Mirror) error {
			_, err := m.Add(ctx, src, wants(three[:1], v1), mirrordir.AddOptions{Policy: policyOf(policy)})
			return err
		},
		"AddArchive": func(ctx context.Context, m *mirrordir.Mirror) error {
			s := must.Get(storage.Stage(ctx, m.Store, m.TempDir))(t)
			defer s.Discard()
			got := must.Get(provider.Receive(ctx, src, pkg, s.File, provider.ReceiveOptions{Policy: policy, FetchEvidence: true}))(t)
			_, err := m.AddArchive(ctx, s, pkg, got, policy)
			return err
		},
	} {
		for n, ended := 0, true; ended; n++ {
			m, dir := newMirror(t)
			mustAdd(t, m, other, wants(three[:1], v1), mirrordir.AddOptions{})
			ctx, cancel := context.WithCancel(t.Context())
			changes := 0
			watched := &mirrortest.WatchedStore{Store: m.Store, Before: func(op, name string) error {
				if op == "write" || op == "delete" {
					if changes++; changes > n {
						cancel()
					}
				}
				return nil
			}}
			err := add(ctx, &mirrordir.Mirror{Store: mirrortest.LockedStore{Store: watched, Dir: m.Store.(*storage.Dir)}, TempDir: t.TempDir()})
			ended = ctx.Err() != nil
			if report := mustCheck(t, open(t, dir), mirrordir.CheckOptions{Policy: policyOf(policy)}); err != nil || !report.OK() || len(report.Notes) > 0 {
				t.Errorf("%s whose context ends at change %d = %v, and leaves %+v", name, n+1, err, report)
			}
			cancel()
		}
	}
}

// TestFullDisk checks that a failed Add on a full disk leaves the mirror as it was.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disktest.Full(t, 1<<16, func(t *testing.T, dir string) {
		m, src := open(t, dir), client(growing())
		mustAdd(t, m, src, wants(three, v1), mirrordir.AddOptions{})
		_, err := m.Add(t.Context(), src, wants(three, v2), mirrordir.AddOptions{})
		if !errors.Is(err, syscall.EFBIG) {
			t.Errorf("%v, want the system's reason", err)
		}
		wantOnly(t, m, dir)
	})
}

// TestReadOnlyDirectory checks that a mirror that cannot be written can be read.
func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	disktest.ReadOnly(t, func(t *testing.T, dir string) {
		mustAdd(t, open(t, dir), client(growing()), wants(three, v1), mirrordir.AddOptions{})
	}, func(t *testing.T, dir string) {
		m := open(t, dir)
		if _, err := m.Add(t.Context(), client(growing()), wants(three, v2), mirrordir.AddOptions{}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v, want fs.ErrPermission", err)
		}
		wantOnly(t, m, dir)
		pkg := must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		must.Get(m.Open(t.Context(), pkg))(t).Close()
	})
}

// TestOccupied checks that Add does not replace a directory or a link in place of an archive or
// document, and does not write to the target of the link.
func TestOccupied(t *testing.T) {
	t.Parallel()
	outside := write(t, t.TempDir(), "precious", "precious")
	for name, plant := range map[string]func(path string) error{
		"directory": func(path string) error { return os.MkdirAll(filepath.Join(path, "kept"), 0o755) },
		"link":      func(path string) error { return disktest.Symlink(outside, path) },
		"link to nothing": func(path string) error {
			return disktest.Symlink(outside+".none", path)
		},
	} {
		for _, file := range []string{"2.0.0.json", "terraform-provider-alpha_2.0.0_linux_amd64.zip"} {
			t.Run(name+" at "+file, func(t *testing.T) {
				t.Parallel()
				m, dir := newMirror(t)
				src := client(growing())
				mustAdd(t, m, src, wants(three, v1), mirrordir.AddOptions{})
				path := filepath.Join(dir, filepath.FromSlash(home), file)
				if err := plant(path); err != nil {
					t.Skipf("skipped: this cannot be made here: %v", err)
				}
				_, err := m.Add(t.Context(), src, wants(three, v2), mirrordir.AddOptions{})
				if name == "directory" {
					if _, stat := os.Stat(filepath.Join(path, "kept")); err == nil || stat != nil {
						t.Errorf("the directory: %v; adding: %v", stat, err)
					}
				}
				if data, err := os.ReadFile(outside); err != nil || string(data) != "precious" {
					t.Errorf("what the link points to has become %q, %v", data, err)
				}
				if _, err := os.Lstat(outside + ".none"); err == nil {
					t.Error("what the link points to was made")
				}
			})
		}
	}
}

// TestOtherFileSystem checks that a mirror on another file system works, since files are staged in
// the mirror.
func TestOtherFileSystem(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // no file system in memory
	}
	_, link := disktest.Elsewhere(t)
	m := open(t, link)
	mustAdd(t, m, client(growing()), wants(three, v1), mirrordir.AddOptions{})
	wantOnly(t, m, link)
}
