package module

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/tofureg/tofureg/internal/archive"
)

// isGitDir reports whether some file system takes a file of this name for .git: the
// directory in which git keeps a repository, or the file by which a submodule names one.
func isGitDir(elem string) bool {
	folded := archive.Fold(elem)
	return folded == ".git" || folded == "git~1" // the short name on Windows
}

// isControlDir is isGitDir for Mercurial as well.
func isControlDir(elem string) bool {
	folded := archive.Fold(elem)
	return isGitDir(elem) || folded == ".hg" || folded == "hg~1"
}

// controlDir returns the beginning of name that ends in an element that is one, "" if
// there is no such element.
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

// withoutControl removes the directories in which version control keeps a repository. They
// are no part of a package, and their settings can run programs as soon as git looks at
// the files.
func withoutControl(root *os.Root, files []archive.File) ([]archive.File, error) {
	kept := make([]archive.File, 0, len(files))
	removed := map[string]bool{}
	for _, f := range files {
		dir := controlDir(f.Name, isControlDir)
		if dir == "" {
			kept = append(kept, f)
		} else if !removed[dir] {
			removed[dir] = true
			if err := root.RemoveAll(dir); err != nil {
				return nil, err
			}
		}
	}
	if len(kept) == 0 && len(files) > 0 {
		return nil, fmt.Errorf("%w: there is nothing in it but a repository", ErrArchive)
	}
	return kept, nil
}

// refuseRepository refuses a package that git takes for a repository without files of its
// own (a bare one): as with .git, its settings can run programs.
func refuseRepository(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, e := range entries {
		has[archive.Fold(e.Name())] = true
	}
	// With commondir, objects and refs are somewhere else.
	if has["head"] && (has["objects"] && has["refs"] || has["commondir"]) {
		return fmt.Errorf("%w: it is a repository of git itself, with HEAD, objects and refs at its top", ErrArchive)
	}
	return nil
}
