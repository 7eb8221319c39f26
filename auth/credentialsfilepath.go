package auth

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLinks bounds a chain of symbolic links, as systems do.
const maxLinks = 40

// followLinks returns the path of the file that path names: where it is a
// symbolic link, what that points to, be it there or not.
func followLinks(path string) (string, error) {
	if path == "" {
		return "", errors.New("it has no path")
	}
	for range maxLinks {
		// Not filepath.Dir and not Clean: after a link, ".." is not what it looks
		// like.
		dir, name := filepath.Split(path)
		if dir == "" {
			dir = "."
		}
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Type() != fs.ModeSymlink {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		link, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		switch path = link; {
		case filepath.IsAbs(link):
		case link != "" && os.IsPathSeparator(link[0]): // on Windows: of the same volume
			path = filepath.VolumeName(dir) + link
		default:
			path = dir + string(filepath.Separator) + link
		}
	}
	return "", &fs.PathError{Op: "follow", Path: path, Err: errors.New("too many symbolic links")}
}
