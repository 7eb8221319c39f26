package dirtest_test

import (
	"context"
	"strings"
	"testing"

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
		test.storage.Directory = &mirrordir.Directory{Path: t.TempDir()}
		err := dirtest.StorageCheck(t.Context(), "staged files", test.storage)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: found %v, want %q", name, err, test.want)
		}
	}
}

func replacing(ctx context.Context, d *mirrordir.Directory, s mirrordir.Staged, name string) error {
	if err := d.Delete(ctx, name); err != nil {
		return err
	}
	return s.Commit(ctx, name)
}
