package cliconfig

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// implicitMethods sets the methods of installation: those of the block, or else the
// directories in which the CLI looks by itself and the registries.
func (l *loader) implicitMethods() {
	if in := l.set.installation; in != nil {
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

// pluginDirs returns where providers are looked for if the configuration does not say
// how to install them.
func (s System) pluginDirs() []string {
	var dirs []string
	dirs = append(dirs, s.abs(s.join("terraform.d", "plugins")))
	for _, dir := range slices.Concat(s.dataDirs(), s.appDirs()) {
		if dir := s.abs(s.join(dir, "plugins")); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// appDirs returns the directories that the system has for the data of an application.
func (s System) appDirs() []string {
	switch s.GOOS {
	case "windows":
		if dir := s.appData(); dir != "" {
			return []string{s.join(dir, "HashiCorp", "Terraform")}
		}
		return nil
	case "darwin", "ios":
		dirs := []string{"/Library/Application Support/io.terraform"}
		if s.Home != "" {
			dirs = slices.Insert(dirs, 0, s.join(s.Home, "Library", "Application Support", "io.terraform"))
		}
		return dirs
	}
	var dirs []string
	if home := s.getenv(envXDGData); s.isAbs(home) {
		dirs = append(dirs, home)
	} else if s.Home != "" {
		dirs = append(dirs, s.join(s.Home, ".local", "share"))
	}
	shared := s.getenv(envXDGDataDirs)
	if shared == "" {
		shared = "/usr/local/share:/usr/share"
	}
	dirs = slices.AppendSeq(dirs, strings.SplitSeq(shared, ":"))
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !s.isAbs(dir) })
	for i, dir := range dirs {
		dirs[i] = s.join(dir, "terraform")
	}
	return dirs
}
