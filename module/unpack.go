package module

import (
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

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// unpacked is a package in the staging directory, or one that is reused at the target.
type unpacked struct {
	root   *os.Root
	h1     checksum.Hash
	reused bool
}

// unpack makes a package of the files that write unpacks.
func (j *job) unpack(ctx context.Context, write func(root *os.Root) ([]archive.File, error)) (*unpacked, error) {
	root, err := j.staging.newTree()
	if err != nil {
		return nil, err
	}
	j.report.Skipped = nil
	files, err := write(root)
	if err == nil {
		files, err = removeControlDirs(ctx, root, files)
	}
	if err == nil {
		err = refuseRepository(files)
	}
	if err == nil {
		var h1 checksum.Hash
		if h1, err = checksum.H1Sum(archive.Sums(files, false)); err == nil {
			return &unpacked{root: root, h1: h1}, nil
		}
	}
	root.Close()
	return nil, withHint(err)
}

// plainTar unpacks a tar archive that was made on this machine. Only its content is limited.
func (j *job) plainTar(ctx context.Context, r io.Reader, root *os.Root) ([]archive.File, error) {
	limits := archive.Limits(j.limits)
	limits.Package = -1
	return archive.UnpackTar(ctx, r, archive.FormatTar, root, limits, j.archiveOptions())
}

// withHint adds to ErrLink how to accept it.
func withHint(err error) error {
	if errors.Is(err, ErrLink) {
		return fmt.Errorf("%w; set Options.SkipLinks to omit it", err)
	}
	return err
}

// maxSkipped is the maximum length of Report.Skipped.
const maxSkipped = 1000

// skip notes an omitted name.
func (j *job) skip(name string) {
	if len(j.report.Skipped) < maxSkipped {
		j.report.Skipped = append(j.report.Skipped, name)
	}
}

// archiveOptions returns the rules for archives. Real packages have names that differ in case only.
func (j *job) archiveOptions() archive.Options {
	o := archive.Options{AnyCase: true}
	if j.o.SkipLinks {
		o.Skip = j.skip
	}
	return o
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

// controlDir returns the start of name up to the first element for which is returns true, or
// "".
func controlDir(name string, is func(elem string) bool) string {
	end := 0
	for elem := range strings.SplitSeq(name, "/") {
		end += len(elem)
		if is(elem) {
			return name[:end]
		}
		end++
	}
	return ""
}

// removeControlDirs removes the directories of version control. They are not part of a
// package, and their settings can run programs when git reads the files.
func removeControlDirs(ctx context.Context, root *os.Root, files []archive.File) ([]archive.File, error) {
	kept := make([]archive.File, 0, len(files))
	removed := map[string]bool{}
	for _, f := range files {
		dir := controlDir(f.Name, isControlDir)
		if dir == "" {
			kept = append(kept, f)
		} else if !removed[dir] {
			removed[dir] = true
			if err := fsx.RemoveTree(ctx, root, filepath.FromSlash(dir)); err != nil {
				return nil, err
			}
		}
	}
	if len(kept) == 0 && len(files) > 0 {
		return nil, fmt.Errorf("%w: it contains only a repository", ErrArchive)
	}
	return kept, nil
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

// findSubdir returns the directory subdir in root, with the names that match its patterns. If
// it is missing, or not a directory, the error is ErrNoSubdir.
func findSubdir(root *os.Root, subdir string) (string, error) {
	found := "."
	if subdir == "" {
		return "", nil
	}
	for elem := range strings.SplitSeq(subdir, "/") {
		if strings.Contains(elem, "*") {
			name, err := matchSubdir(root, found, elem)
			if err != nil {
				return "", err
			}
			elem = name
		}
		found = path.Join(found, elem)
		info, err := root.Lstat(found)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && !info.IsDir():
			return "", noSubdir(found, "")
		case err != nil:
			return "", err
		}
	}
	return found, nil
}

// matchSubdir returns the only directory in dir that matches pattern, in which only "*" is
// special.
func matchSubdir(root *os.Root, dir, pattern string) (string, error) {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		ok, err := path.Match(strings.ReplaceAll(pattern, "[", `\[`), e.Name())
		if err != nil {
			return "", err
		}
		if ok && e.IsDir() {
			found = append(found, e.Name())
		}
	}
	switch len(found) {
	case 0:
		return "", noSubdir(path.Join(dir, pattern), "")
	case 1:
		return found[0], nil
	}
	return "", noSubdir(path.Join(dir, pattern), " matches more than one directory")
}

func noSubdir(name, why string) error { return fmt.Errorf("%w: %.200q%s", ErrNoSubdir, name, why) }
