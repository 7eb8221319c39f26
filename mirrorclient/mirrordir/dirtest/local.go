package dirtest

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// testStaged checks that a staged file gets a name once, replaces no file, can be read after Commit, and
// is removed by Discard without Commit; and that LocalPath returns its path.
func testStaged(r *run) {
	s, ok := r.storage(0).(mirrordir.Local)
	if !ok {
		return
	}
	name := r.path("archive.zip")
	first, second := r.stage(s, "first"), r.stage(s, "second")
	if first == nil || second == nil {
		return
	}
	r.wantMissing(name, "before Commit,")
	if err := r.commit(first, name); err != nil {
		r.errorf("Commit(%q) = %v, want nil", name, err)
		return
	}
	if err := r.commit(second, name); !errors.Is(err, mirrordir.ErrConflict) {
		r.errorf("Commit(%q) of an existing name = %v, want an error that wraps mirrordir.ErrConflict", name, err)
	}
	content := make([]byte, len("first"))
	if _, err := first.File().ReadAt(content, 0); err != nil || string(content) != "first" {
		r.errorf("ReadAt after Commit(%q) = %q, %v, want the content until Discard", name, content, err)
	}
	first.Discard()
	first.Discard()
	second.Discard()
	r.want(name, "first", "after Commit and Discard")
	r.wantEntries(r.path("."), mirrordir.Entry{Name: "archive.zip", Size: 5})
	r.wantPath(s, name, "first")
}

// stage returns a staged file, or nil after an error.
func (r *run) stage(s mirrordir.Local, content string) mirrordir.Staged {
	staged, err := s.Stage(r.ctx)
	if err != nil {
		r.errorf("Stage = %v", err)
		return nil
	}
	if _, err := io.WriteString(staged.File(), content); err != nil {
		r.errorf("write to a staged file: %v", err)
		staged.Discard()
		return nil
	}
	return staged
}

// commit commits a file that cleanUp removes.
func (r *run) commit(staged mirrordir.Staged, name string) error {
	r.mu.Lock()
	r.written[name] = true
	r.mu.Unlock()
	return staged.Commit(r.ctx, name)
}

// wantPath checks the local path of a file.
func (r *run) wantPath(s mirrordir.Local, name, content string) {
	local, err := s.LocalPath(name)
	if err != nil {
		r.errorf("LocalPath(%q) = %v", name, err)
		return
	}
	if data, err := os.ReadFile(local); err != nil || string(data) != content {
		r.errorf("LocalPath(%q) = %q, which contains %s, %v, want %s", name, local, excerpt(string(data)), err, excerpt(content))
	}
	local, err = s.LocalPath(r.path("none"))
	if _, stat := os.Stat(local); err != nil || !errors.Is(stat, fs.ErrNotExist) {
		r.errorf("LocalPath of a missing file = %q, %v; Stat = %v, want fs.ErrNotExist", local, err, stat)
	}
}
