package dirtest_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir/dirtest"
)

// badLocal is a directory with wrong staged files or paths.
type badLocal struct {
	*mirrordir.Directory
	commit func(ctx context.Context, d *mirrordir.Directory, s mirrordir.Staged, name string) error
	path   func(path string) string
}

func (b badLocal) Stage(ctx context.Context) (mirrordir.Staged, error) {
	s, err := b.Directory.Stage(ctx)
	return badStaged{s, b}, err
}

func (b badLocal) LocalPath(name string) (string, error) {
	local, err := b.Directory.LocalPath(name)
	if b.path != nil {
		local = b.path(local)
	}
	return local, err
}

type badStaged struct {
	mirrordir.Staged
	in badLocal
}

func (s badStaged) Commit(ctx context.Context, name string) error {
	if s.in.commit == nil {
		return s.Staged.Commit(ctx, name)
	}
	return s.in.commit(ctx, s.in.Directory, s.Staged, name)
}

// TestBrokenLocal is TestBroken for a mirrordir.Local.
func TestBrokenLocal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		storage badLocal
		want    string
	}{
		"right":    {},
		"replaces": {badLocal{commit: replacing}, "want an error that wraps mirrordir.ErrConflict"},
		"does nothing": {badLocal{commit: func(context.Context, *mirrordir.Directory, mirrordir.Staged, string) error {
			return nil
		}}, "does not exist"},
		"closes": {badLocal{commit: func(ctx context.Context, _ *mirrordir.Directory, s mirrordir.Staged, name string) error {
			defer s.File().Close()
			return s.Commit(ctx, name)
		}}, "want the content until Discard"},
		"another path": {badLocal{path: func(path string) string { return path + ".x" }}, "LocalPath"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "replaces" && !removesLocked(t) {
				t.Skip("skipped: Wine removes a locked file when the lock ends")
			}
			test.storage.Directory = &mirrordir.Directory{Path: t.TempDir()}
			err := dirtest.StorageCheck(t.Context(), "staged files", test.storage)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("found %v, want %q", err, test.want)
			}
		})
	}
}

// removesLocked reports whether the system removes a file that is open and locked.
func removesLocked(t *testing.T) bool {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	l, err := fsx.AcquireLockIn(t.Context(), root, "lock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if err := root.Remove("lock"); err != nil {
		t.Fatal(err)
	}
	_, err = root.Lstat("lock")
	return err != nil
}

func replacing(ctx context.Context, d *mirrordir.Directory, s mirrordir.Staged, name string) error {
	if err := d.Delete(ctx, name); err != nil {
		return err
	}
	return s.Commit(ctx, name)
}
