package cliconfig

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// implicitMethods sets the installation methods: the methods of the block, or the implicit
// directories and the registries.
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
			l.addWarning(Place{File: dir}, "ignored directory for providers", err)
		}
	}
	l.set.methods = append(l.set.methods, Method{Kind: Direct, Implicit: true})
}

// pluginDirs returns the implicit directories for providers.
func (s System) pluginDirs() []string {
	dirs := []string{s.abs(s.join("terraform.d", "plugins"))}
	for _, dir := range slices.Concat(s.dataDirs(), s.appDirs()) {
		if dir := s.abs(s.join(dir, "plugins")); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// appDirs returns the directories of the system for application data.
func (s System) appDirs() []string {
	switch s.GOOS {
	case "windows":
		return nonEmpty(s.join(s.appData(), "HashiCorp", "Terraform"))
	case "darwin", "ios":
		const dir = "/Library/Application Support/io.terraform"
		return nonEmpty(s.join(s.Home, dir), dir)
	}
	own := s.getenv(envXDGData)
	if !s.isAbs(own) {
		own = s.join(s.Home, ".local", "share")
	}
	shared := strings.Split(cmp.Or(s.getenv(envXDGDataDirs), "/usr/local/share:/usr/share"), ":")
	dirs := slices.DeleteFunc(append([]string{own}, shared...), func(dir string) bool { return !s.isAbs(dir) })
	for i, dir := range dirs {
		dirs[i] = s.join(dir, "terraform")
	}
	return dirs
}
