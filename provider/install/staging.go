package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
)

// private is the directory for unfinished packages and notes. The CLI ignores it, as it is not a
// hostname.
const private = ".tofureg"

// workPrefix starts the names of the staging directories in it.
const workPrefix = "install-"

// staging is a locked staging directory for one package. The content of an unlocked one is left
// from a dead process.
//
// The directories keep their names: a client that scans the plugin directory fails if a name
// disappears.
type staging struct {
	*openDir
	name string
	lock *fsx.Lock
}

// stage locks the first free staging directory and clears all free ones.
func (o *openDir) stage(ctx context.Context) (*staging, error) {
	if err := o.mkdir(private); err != nil {
		return nil, err
	}
	o.sweep(ctx) // failures do not matter here
	var err error
	for i, failures := 0, 0; failures < 10 && ctx.Err() == nil; i++ {
		var s *staging
		if s, err = o.claim(ctx, fmt.Sprintf("%s/%s%d", private, workPrefix, i)); s != nil {
			return s, nil
		}
		if err != nil {
			failures++
		}
	}
	return nil, cmp.Or(err, fault.Ended(ctx))
}

// claim locks and clears a staging directory. It returns nil if the directory is in use.
func (o *openDir) claim(ctx context.Context, name string) (*staging, error) {
	l, err := fsx.TryLockIn(o.root, name+".lock")
	if l == nil || err != nil {
		return nil, err
	}
	s := &staging{o, name, l}
	if err := s.clear(ctx); err != nil {
		l.Release()
		return nil, err
	}
	return s, nil
}

// clear empties the directory, or creates it.
func (s *staging) clear(ctx context.Context) error {
	info, err := s.root.Lstat(s.name)
	if errors.Is(err, fs.ErrNotExist) {
		return s.root.Mkdir(s.name, 0o755)
	}
	if err == nil && !info.IsDir() {
		return errors.Join(s.root.Remove(s.name), s.root.Mkdir(s.name, 0o755))
	}
	names, err := s.list(s.name, -1)
	for _, name := range names {
		err = errors.Join(err, fsx.RemoveTree(ctx, s.root, s.name+"/"+name))
	}
	return err
}

// release clears and unlocks the directory. If ctx has ended, files may be left for the next sweep.
func (s *staging) release(ctx context.Context) error {
	return errors.Join(s.clear(ctx), s.lock.Release())
}

// archiveFile creates a file for the archive. Where the system allows it, the file has no name, so
// that a killed process leaves nothing behind.
func (s *staging) archiveFile() (*os.File, error) {
	name := s.name + "/archive"
	f, err := s.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		s.root.Remove(name)
	}
	return f, err
}

// sweep clears the staging directories of dead processes.
func (o *openDir) sweep(ctx context.Context) error {
	names, err := o.list(private, -1)
	if err != nil {
		return notExistIsNil(err)
	}
	var problems []error
	for _, name := range names {
		if ctx.Err() != nil {
			return fault.Ended(ctx)
		}
		name = private + "/" + name
		if !strings.HasPrefix(name, private+"/"+workPrefix) || strings.HasSuffix(name, ".lock") {
			continue
		}
		if left, err := o.list(name, 1); err != nil || len(left) == 0 {
			continue
		}
		s, err := o.claim(ctx, name)
		if err != nil {
			problems = append(problems, err)
		}
		if s != nil {
			s.lock.Release()
		}
	}
	return errors.Join(problems...)
}

func notExistIsNil(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// list returns the names in a directory, at most n if n is positive.
func (o *openDir) list(name string, n int) ([]string, error) {
	dir, err := o.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(n)
	if n > 0 && len(names) == 0 {
		err = nil // io.EOF
	}
	return names, err
}

// tree returns the name of the directory for the content of the package.
func (s *staging) tree() string { return s.name + "/tree" }

// dirs returns the directories of the files, and the top directory.
func (s *staging) dirs(files []archive.File) []string {
	done := map[string]bool{}
	var list []string
	for _, f := range files {
		for dir := path.Join(s.tree(), path.Dir(f.Name)); !done[dir] && len(dir) >= len(s.tree()); dir = path.Dir(dir) {
			done[dir] = true
			list = append(list, dir)
		}
	}
	return list
}
