package cliconfig

import (
	"path"
	"strings"
)

// Paths follow the rules of the System, which need not be those of this program, so
// path/filepath is of no use here.

// join returns the cleaned path of elem below dir.
func (s System) join(dir string, elem ...string) string {
	separator := "/"
	if s.windows() {
		separator = `\`
	}
	return s.clean(dir + separator + strings.Join(elem, separator))
}

// abs returns name as an absolute, cleaned path, if the working directory is known.
func (s System) abs(name string) string {
	switch {
	case s.isAbs(name) || s.Dir == "":
		return s.clean(name)
	case s.windows() && name != "" && isSlash(name[0]):
		return s.clean(s.Dir[:volumeLen(s.Dir)] + name)
	case s.windows() && volumeLen(name) > 0:
		return s.clean(name) // relative to the working directory of another drive
	}
	return s.join(s.Dir, name)
}

func (s System) isAbs(name string) bool {
	if !s.windows() {
		return strings.HasPrefix(name, "/")
	}
	n := volumeLen(name)
	return n > 2 || n == 2 && len(name) > 2 && isSlash(name[2])
}

// clean returns the shortest spelling of a path.
func (s System) clean(name string) string {
	if !s.windows() {
		return path.Clean(name)
	}
	n := volumeLen(name)
	volume := strings.ReplaceAll(name[:n], "/", `\`)
	rest := strings.ReplaceAll(name[n:], `\`, "/")
	switch {
	case rest != "":
		rest = path.Clean(rest)
	case n != 2: // not a drive alone
		return volume
	default:
		rest = "."
	}
	return volume + strings.ReplaceAll(rest, "/", `\`)
}

// volumeLen returns the length of "C:" or of \\server\share at the start of a Windows
// path.
func volumeLen(name string) int {
	if len(name) >= 2 && name[1] == ':' && 'a' <= name[0]|0x20 && name[0]|0x20 <= 'z' {
		return 2
	}
	if len(name) < 3 || !isSlash(name[0]) || !isSlash(name[1]) || isSlash(name[2]) {
		return 0
	}
	slashes := 0
	for i := 2; i < len(name); i++ {
		if isSlash(name[i]) {
			if slashes++; slashes == 2 {
				return i
			}
		}
	}
	if slashes == 0 {
		return 0
	}
	return len(name)
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }
