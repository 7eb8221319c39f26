package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fsx"
)

// private is the directory for unfinished packages and notes. The CLI ignores it, as it is not a
// hostname.
const private = ".tofureg"

// staging is a staging directory for one package.
type staging struct {
	*openDir
	name string
	part *fsx.PartDir
}

// stage creates a staging directory. Others may read it: a client of another user that scans the plugin
// directory fails if it cannot.
func (o *openDir) stage(ctx context.Context) (*staging, error) {
	if err := o.mkdir(private); err != nil {
		return nil, err
	}
	fsx.SweepPartsIn(ctx, o.root, private)
	part, err := fsx.CreatePartDirIn(o.root, private, 0o755)
	if err != nil {
		return nil, err
	}
	return &staging{o, filepath.ToSlash(part.Name()), part}, nil
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
