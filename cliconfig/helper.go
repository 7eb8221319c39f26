package cliconfig

import (
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

const helperPrefix = "terraform-credentials-"

// A helper is the content of a credentials_helper block.
type helper struct {
	name  string
	args  []string
	place Place
	path  string // of the program, or "" if it was not found
}

// helperBlock reads the name and the arguments of a credentials helper.
func (r *fileReader) helperBlock(label name, body value) {
	h := &helper{name: label.text, place: r.place(label.at)}
	r.arguments("credentials_helper", body, readers{"args": func(it item) {
		for _, a := range r.texts(it) {
			h.args = append(h.args, a.text)
		}
	}})
	if old := r.set.helper; old != nil && old.name != h.name {
		r.errorf(label.at, "a second credentials helper; the first one is at %s", old.place)
		return
	}
	r.set.helper = h
}

// findHelper finds the program of the credentials helper. As in the CLI, a missing
// program is ignored.
func (l *loader) findHelper() {
	h := l.set.helper
	if h == nil {
		return
	}
	if h.path = l.sys.findHelper(h.name); h.path == "" {
		l.set.helper = nil
		l.addWarning(h.place, "ignored credentials helper: the plugin directories do not contain its program "+quote(helperPrefix+h.name), nil)
	}
}

// findHelper returns the absolute path of the newest program with the name, or "" if
// there is no such program.
func (s System) findHelper(name string) string {
	var newest addrs.Version
	found := ""
	for _, dir := range s.helperDirs() {
		files, err := s.list(dir, func(file string) bool { return strings.HasPrefix(file, helperPrefix) })
		if err != nil {
			continue // usually the directory does not exist
		}
		slices.Sort(files)
		for _, file := range files {
			version, ok := helperVersion(file, name)
			path := s.join(dir, file)
			if ok && s.isAbs(path) && (found == "" || version.Compare(newest) > 0) && s.isFile(path) {
				newest, found = version, path
			}
		}
	}
	return found
}

// helperDirs returns the directories in which programs of helpers are searched.
func (s System) helperDirs() []string {
	var dirs []string
	for _, dir := range s.dataDirs() {
		plugins := s.abs(s.join(dir, "plugins"))
		dirs = append(dirs, plugins, s.join(plugins, s.GOOS+"_"+s.GOARCH))
	}
	return dirs
}

// helperVersion returns the version in the name of a file, or the zero Version if the name
// has no version. It returns false if the file is not the named helper.
func helperVersion(file, name string) (addrs.Version, bool) {
	base := strings.TrimSuffix(strings.ToLower(file), ".exe")
	base, text, versioned := strings.Cut(strings.TrimPrefix(base, helperPrefix), "_v")
	if base != name { // as in the CLI, a name with capitals is never found
		return addrs.Version{}, false
	}
	if !versioned {
		return addrs.Version{}, true
	}
	text, _, _ = strings.Cut(text, "_x") // a suffix of old installers
	v, err := addrs.ParseVersion(text)
	return v, err == nil
}

func (s System) isFile(name string) bool {
	info, err := s.stat(name)
	return err == nil && !info.IsDir()
}
