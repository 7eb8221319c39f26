package cliconfig

import (
	"path"
	"regexp"
	"strings"
)

// Paths follow the rules of the System, which can differ from the rules of path/filepath in
// this program.

// join returns the cleaned path of elem below dir, or "" if dir is "".
func (s System) join(dir string, elem ...string) string {
	if dir == "" {
		return ""
	}
	return s.clean(dir + "/" + strings.Join(elem, "/"))
}

// abs returns the absolute, cleaned path of name, if the working directory is known.
func (s System) abs(name string) string {
	volume, rest := s.split(name)
	switch {
	case s.isAbs(name) || s.Dir == "":
	case volume == "" && strings.HasPrefix(rest, "/"): // on Windows
		volume, _ = s.split(s.Dir)
		name = volume + name
	case volume == "": // otherwise relative to the working directory of another drive
		return s.join(s.Dir, name)
	}
	return s.clean(name)
}

func (s System) isAbs(name string) bool {
	volume, rest := s.split(name)
	return len(volume) > len("C:") || strings.HasPrefix(rest, "/") && (volume != "" || !s.windows())
}

// clean returns the shortest spelling of a path.
func (s System) clean(name string) string {
	volume, rest := s.split(name)
	if rest != "" || len(volume) <= len("C:") {
		rest = path.Clean(rest)
	}
	if !s.windows() {
		return rest
	}
	return strings.ReplaceAll(volume+rest, "/", `\`)
}

var windowsVolume = regexp.MustCompile(`^([A-Za-z]:|//[^/]+/[^/]*)`)

// split returns the volume of a Windows path, "C:" or "//server/share", and the rest of
// the path, both with slashes. Other systems have no volumes.
func (s System) split(name string) (volume, rest string) {
	if s.windows() {
		name = strings.ReplaceAll(name, `\`, "/")
		volume = windowsVolume.FindString(name)
	}
	return volume, name[len(volume):]
}
