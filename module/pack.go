package module

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A pack is a package in the stage, or one that is reused, at the target.
type pack struct {
	root   *os.Root
	h1     checksum.Hash
	reused bool
}

// fill makes a package of what unpack writes.
func (j *job) fill(unpack func(root *os.Root) ([]archive.File, error)) (*pack, error) {
	root, err := j.stage.tree()
	if err != nil {
		return nil, err
	}
	j.report.Skipped = nil
	files, err := unpack(root)
	if err == nil {
		files, err = withoutControl(root, files)
	}
	if err == nil {
		err = refuseRepository(root)
	}
	if err == nil {
		var h1 checksum.Hash
		if h1, err = checksum.H1Sum(archive.Sums(files, false)); err == nil {
			return &pack{root: root, h1: h1}, nil
		}
	}
	root.Close()
	return nil, hinted(err)
}

// plainTar unpacks a tar that was made on this machine. Its own size is not limited, the
// size of its content is.
func (j *job) plainTar(ctx context.Context, r io.Reader, root *os.Root) ([]archive.File, error) {
	limits := archive.Limits(j.limits)
	limits.Package = -1
	return archive.UnpackTar(ctx, r, archive.FormatTar, root, limits, archive.Options{Skip: j.skipper()})
}

// hinted tells what to do about a link.
func hinted(err error) error {
	if errors.Is(err, ErrLink) {
		return fmt.Errorf("%w; Options.SkipLinks would leave it out", err)
	}
	return err
}

// maxSkipped bounds the list in a report.
const maxSkipped = 1000

// skip notes what is left out.
func (j *job) skip(name string) {
	if len(j.report.Skipped) < maxSkipped {
		j.report.Skipped = append(j.report.Skipped, name)
	}
}

// skipper is skip if links may be left out, otherwise nil.
func (j *job) skipper() func(string) {
	if !j.o.SkipLinks {
		return nil
	}
	return j.skip
}

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

// locate finds directory subdir below root and returns it with the names that its
// patterns stand for. What is not there, or is no directory, is ErrNoSubdir.
func locate(root *os.Root, subdir string) (string, error) {
	found := "."
	if subdir == "" {
		return "", nil
	}
	for elem := range strings.SplitSeq(subdir, "/") {
		if strings.Contains(elem, "*") {
			name, err := match(root, found, elem)
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

// match returns the one directory in dir whose name pattern stands for. Only "*" is
// special in a pattern.
func match(root *os.Root, dir, pattern string) (string, error) {
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
	return "", noSubdir(path.Join(dir, pattern), ", as it stands for more than one")
}

func noSubdir(name, why string) error { return fmt.Errorf("%w: %.200q%s", ErrNoSubdir, name, why) }
