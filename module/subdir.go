package module

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

// joinSubdir returns directory sub within directory base. Neither may leave what it
// is in. An empty one is the directory itself. The error is an [*addrs.ParseError].
func joinSubdir(base, sub string) (string, error) {
	base, err := addrs.ParseSubdir(base)
	if err != nil {
		return "", err
	}
	sub, err = addrs.ParseSubdir(sub)
	if err != nil {
		return "", err
	}
	return path.Join(base, sub), nil
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
	found := ""
	for _, e := range entries {
		ok, err := path.Match(strings.ReplaceAll(pattern, "[", `\[`), e.Name())
		if err != nil {
			return "", err
		}
		if !ok || !e.IsDir() {
			continue
		}
		if found != "" {
			return "", noSubdir(path.Join(dir, pattern), ", as it stands for more than one")
		}
		found = e.Name()
	}
	if found == "" {
		return "", noSubdir(path.Join(dir, pattern), "")
	}
	return found, nil
}

func noSubdir(name, why string) error { return fmt.Errorf("%w: %.200q%s", ErrNoSubdir, name, why) }
