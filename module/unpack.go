package module

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// unpacked is a package in the staging directory, or one that is reused at the target.
type unpacked struct {
	root    *os.Root // the caller closes it
	h1      checksum.Hash
	size    int64    // of the archive
	commit  string   // from a git repository
	skipped []string // at most maxSkipped omitted names
	reused  bool
}

// maxSkipped is the maximum length of Report.Skipped.
const maxSkipped = 1000

// skip notes omitted names.
func (u *unpacked) skip(names ...string) {
	u.skipped = append(u.skipped, names[:min(len(names), maxSkipped-len(u.skipped))]...)
}

// unpack makes a package of the files that write unpacks with the given options.
func (s *staging) unpack(ctx context.Context, write func(root *os.Root, o archive.Options) ([]archive.File, error)) (*unpacked, error) {
	root, err := s.newTree()
	if err != nil {
		return nil, err
	}
	got := &unpacked{root: root}
	// Real packages have names that differ in case only.
	files, err := write(root, archive.Options{Sync: true, AnyCase: true, Omit: func(name string, link bool) bool {
		switch {
		// The directories of version control are not part of a package, and their settings can run
		// programs when git reads the files.
		case hasElement(name, isControlDir):
			return true
		case link && s.o.SkipLinks:
			got.skip(name)
			return true
		}
		return false
	}})
	switch {
	case errors.Is(err, ErrLink):
		err = fmt.Errorf("%w; set Options.SkipLinks to omit it", err)
	case err == nil && len(files) == 0 && len(got.skipped) == 0:
		err = fmt.Errorf("%w: it contains only a repository", ErrArchive)
	case err == nil:
		err = refuseRepository(files)
	}
	if err == nil {
		err = syncDirs(ctx, root.Name(), files)
	}
	if err == nil {
		got.h1, err = checksum.H1Sum(archive.Sums(files, false))
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return got, nil
}

// syncDirs syncs the directories of a package.
func syncDirs(ctx context.Context, root string, files []archive.File) error {
	// Disks sync many at once more than ten times as fast as one after the other.
	var group errgroup.Group
	group.SetLimit(16)
	done := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.Name); !done[dir]; dir = path.Dir(dir) {
			done[dir] = true
			if ctx.Err() != nil {
				return cmp.Or(group.Wait(), ctx.Err())
			}
			group.Go(func() error { return fsx.SyncDir(filepath.Join(root, filepath.FromSlash(dir))) })
		}
	}
	return group.Wait()
}

// unpackPlain unpacks a tar archive that was made on this machine. Only its content is limited.
func (s *staging) unpackPlain(ctx context.Context, r io.Reader, root *os.Root, o archive.Options) ([]archive.File, error) {
	limits := archive.Limits(s.limits)
	limits.Package = -1
	return archive.UnpackTar(ctx, r, archive.FormatTar, root, limits, o)
}

// isGitDir reports whether some file system takes the name for .git: the directory of a
// repository, or the file with which a submodule names one.
func isGitDir(elem string) bool {
	folded := archive.Fold(elem)
	return folded == ".git" || folded == "git~1" // the short name on Windows
}

// isControlDir is isGitDir for Mercurial as well.
func isControlDir(elem string) bool {
	folded := archive.Fold(elem)
	return isGitDir(elem) || folded == ".hg" || folded == "hg~1"
}

// hasElement reports whether is returns true for an element of name.
func hasElement(name string, is func(elem string) bool) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), is)
}

// refuseRepository refuses a package with a directory that git takes for a bare repository,
// because its settings can run programs.
func refuseRepository(files []archive.File) error {
	names := map[string]map[string]bool{} // by directory, those of a repository
	seen := map[string]bool{".": true}
	for _, f := range files {
		for name := path.Clean(f.Name); !seen[name]; name = path.Dir(name) {
			seen[name] = true
			dir, base := path.Dir(name), archive.Fold(path.Base(name))
			if slices.Contains([]string{"head", "objects", "refs", "commondir"}, base) {
				if names[dir] == nil {
					names[dir] = map[string]bool{}
				}
				names[dir][base] = true
			}
		}
	}
	for dir, has := range names {
		// The file commondir names another directory with objects and refs.
		if has["head"] && (has["objects"] && has["refs"] || has["commondir"]) {
			return fmt.Errorf("%w: directory %q is a bare git repository, with HEAD, objects and refs", ErrArchive, dir)
		}
	}
	return nil
}

// findSubdir returns the directory subdir in root, with the only names that match its patterns, in
// which only "*" is special. If it is missing, or not a directory, the error is ErrNoSubdir.
func findSubdir(root *os.Root, subdir string) (string, error) {
	if subdir == "" {
		return "", nil
	}
	found := "."
	for elem := range strings.SplitSeq(subdir, "/") {
		if strings.Contains(elem, "*") {
			entries, err := fs.ReadDir(root.FS(), found)
			if err != nil {
				return "", err
			}
			var names []string
			for _, e := range entries {
				ok, err := path.Match(strings.ReplaceAll(elem, "[", `\[`), e.Name())
				if err != nil {
					return "", err
				}
				if ok && e.IsDir() {
					names = append(names, e.Name())
				}
			}
			if len(names) != 1 {
				return "", fmt.Errorf("%w: %.200q matches %d directories", ErrNoSubdir, path.Join(found, elem), len(names))
			}
			elem = names[0]
		}
		found = path.Join(found, elem)
		info, err := root.Lstat(found)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && !info.IsDir():
			return "", fmt.Errorf("%w: %.200q", ErrNoSubdir, found)
		case err != nil:
			return "", err
		}
	}
	return found, nil
}
