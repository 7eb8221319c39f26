package cliconfig

import (
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

const helperPrefix = "terraform-credentials-"

// helper is what a credentials_helper block says.
type helper struct {
	name  string
	args  []string
	place Place
	path  string // of the program; empty: it was not found
}

// helperBlock reads the name and the arguments of a credentials helper.
func (r *fileReader) helperBlock(label name, body value) {
	h := &helper{name: label.text, place: r.place(label.at)}
	r.arguments("credentials_helper", body, readers{"args": func(it item) {
		args, _ := r.texts(it)
		for _, a := range args {
			h.args = append(h.args, a.text)
		}
	}})
	if old := r.set.helper; old != nil && old.name != h.name {
		r.wrong(label.at, "there is more than one credentials helper; the other one is at %s", old.place)
		return
	}
	r.set.helper = h
}

// findHelper looks for the program of the credentials helper. As in the CLI, one that
// is not there is ignored.
func (l *loader) findHelper() {
	h := l.set.helper
	if h == nil {
		return
	}
	if h.path = l.sys.findHelper(h.name); h.path == "" {
		l.set.helper = nil
		l.warning(h.place, "the credentials helper is ignored, because its program "+shown(helperPrefix+h.name)+" is in none of the plugin directories", nil)
	}
}

// findHelper returns the absolute path of the newest program of that name, of several
// of one version the first one; "" if there is none.
func (s System) findHelper(name string) string {
	var newest addrs.Version
	found := ""
	for _, dir := range s.helperDirs() {
		files, err := s.list(dir, func(file string) bool { return strings.HasPrefix(file, helperPrefix) })
		if err != nil {
			continue // most often there is no such directory
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

// helperDirs returns where programs of helpers are looked for.
func (s System) helperDirs() []string {
	var dirs []string
	for _, dir := range s.dataDirs() {
		plugins := s.abs(s.join(dir, "plugins"))
		dirs = append(dirs, plugins, s.join(plugins, s.GOOS+"_"+s.GOARCH))
	}
	return dirs
}

// helperVersion returns the version in the name of a helper's file, the zero Version if
// it has none, and whether the file is that of the helper at all.
func helperVersion(file, name string) (addrs.Version, bool) {
	base := strings.TrimSuffix(strings.ToLower(file), ".exe")
	base, text, versioned := strings.Cut(strings.TrimPrefix(base, helperPrefix), "_v")
	if base != name { // as in the CLI, which does not change the label
		return addrs.Version{}, false
	}
	if !versioned {
		return addrs.Version{}, true
	}
	text, _, _ = strings.Cut(text, "_x") // what an old installer appended
	v, err := addrs.ParseVersion(text)
	return v, err == nil
}

func (s System) isFile(name string) bool {
	info, err := s.stat(name)
	return err == nil && !info.IsDir()
}
