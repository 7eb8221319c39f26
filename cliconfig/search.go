package cliconfig

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

const helperPrefix = "terraform-credentials-"

// findHelper looks for the program of the credentials helper. As in the CLI, one that
// is not there is ignored.
func (l *loader) findHelper() {
	if len(l.set.helpers) == 0 {
		return
	}
	h := l.set.helpers[0]
	if h.path = l.sys.findHelper(h.name); h.path == "" {
		l.problems.add(&Problem{Place: h.place, Warning: true,
			Message: "the credentials helper is ignored, because its program " + shown(helperPrefix+h.name) + " is in none of the plugin directories"})
		return
	}
	l.set.helper = h
}

// findHelper returns the absolute path of the newest program of that name, of several
// of one version the first one; "" if there is none.
func (s System) findHelper(name string) string {
	var newest addrs.Version
	found := ""
	for _, dir := range s.dataDirs() {
		for _, sub := range []string{s.join(dir, "plugins"), s.join(dir, "plugins", s.GOOS+"_"+s.GOARCH)} {
			names, err := s.list(s.abs(sub), func(file string) bool { return strings.HasPrefix(file, helperPrefix) })
			if err != nil {
				continue // most often there is no such directory
			}
			for _, file := range names {
				version, ok := helperVersion(file, name)
				path := s.abs(s.join(sub, file))
				if ok && s.isAbs(path) && (found == "" || version.Compare(newest) > 0) && s.isFile(path) {
					newest, found = version, path
				}
			}
		}
	}
	return found
}

// helperVersion returns the version in the name of a helper's file, the zero Version if
// it has none, and whether the file is that of the helper at all.
func helperVersion(file, name string) (addrs.Version, bool) {
	base := strings.TrimSuffix(strings.ToLower(file), ".exe")
	base, text, versioned := strings.Cut(strings.TrimPrefix(base, helperPrefix), "_v")
	if base != strings.ToLower(name) {
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

// implicitMethods sets the methods of installation: those of the block, or else the
// directories in which the CLI looks by itself and the registries.
func (l *loader) implicitMethods() {
	if len(l.set.installations) > 0 {
		in := l.set.installations[0]
		l.set.methods, l.set.devOverrides = in.methods, in.overrides
		return
	}
	for _, dir := range l.sys.pluginDirs() {
		info, err := l.sys.stat(dir)
		switch {
		case err == nil && info.IsDir():
			l.set.methods = append(l.set.methods, Method{Kind: FilesystemMirror, Location: dir, Implicit: true})
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			l.problems.add(&Problem{Place: Place{File: dir}, Warning: true, Err: err,
				Message: "the directory cannot be opened and is not searched for providers: " + oneLine(err)})
		}
	}
	l.set.methods = append(l.set.methods, Method{Kind: Direct, Implicit: true})
}
