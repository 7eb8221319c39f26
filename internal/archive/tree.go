package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"
)

// A tree is a directory that an archive is unpacked into.
type tree struct {
	*copier
	root *os.Root
	o    Options
	made map[string]bool // created directories

	syncs errgroup.Group // files that are being synced
}

func newTree(ctx context.Context, root *os.Root, o Options) *tree {
	t := &tree{copier: newCopier(ctx), root: root, o: o, made: map[string]bool{".": true}}
	t.syncs.SetLimit(8) // also bounds the open files
	return t
}

// mkdir creates the directory path and its parents.
func (t *tree) mkdir(path string) error {
	if t.made[path] {
		return nil
	}
	if err := t.mkdir(parent(path)); err != nil {
		return err
	}
	if err := t.root.Mkdir(path, 0o755); err != nil {
		return existing(path, err)
	}
	t.made[path] = true
	return nil
}

// file creates the file of e and calls fill to write its content.
func (t *tree) file(e Entry, fill func(io.Writer) (File, error)) (File, error) {
	if err := t.mkdir(parent(e.Name)); err != nil {
		return File{}, err
	}
	mode := fs.FileMode(0o644)
	if t.executable(e) {
		mode = 0o755
	}
	out, err := t.root.OpenFile(e.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return File{}, existing(e.Name, err)
	}
	f, err := fill(out)
	if err != nil {
		return File{}, errors.Join(err, out.Close())
	}
	return f, t.close(out)
}

// executable reports whether the file of e gets an executable mode.
func (t *tree) executable(e Entry) bool { return e.Exec || t.o.Exec != nil && t.o.Exec(e.Name) }

// close closes a complete file. If it must be synced, this happens concurrently with the next
// files.
func (t *tree) close(f *os.File) error {
	if !t.o.Sync {
		return f.Close()
	}
	t.syncs.Go(func() error { return errors.Join(f.Sync(), f.Close()) })
	return nil
}

// waitForSyncs waits until all files are synced. The caller must call it before it returns, also after an
// error.
func (t *tree) waitForSyncs(files []File, err error) ([]File, error) {
	if failed := t.syncs.Wait(); err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	return files, nil
}

// parent returns the directory of a slash-separated name, "." for the root.
func parent(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return "."
}

// existing explains that a file exists already. It may come from an entry whose name is the same on
// this file system only.
func existing(name string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return bad("entry %.100q: the file system already has this name, possibly in another case: %w", name, err)
	}
	return err
}
