package cliconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
)

// A System has all that a configuration depends on.
type System struct {
	Environ []string // variables NAME=VALUE, also for credentials helpers

	Home string // home directory; if empty, HOME in Environ (USERPROFILE on Windows)

	Dir string // working directory; if empty, relative paths stay relative

	// Terraform selects the rules of Terraform: .tofurc, tofu.rc, and the directories opentofu in XDG_CONFIG_HOME and
	// XDG_DATA_HOME, and credentials for OCI, are ignored. See [Config.DefaultHost].
	Terraform bool

	GOOS, GOARCH string // for the rules of paths; if empty, of package runtime

	// Open opens a path such as /home/alice/.tofurc, as an [fs.ReadDirFile] if it is a directory. The error for a missing
	// file wraps [fs.ErrNotExist]. If nil, and always after [Load], the files of this machine are used.
	Open func(name string) (fs.File, error)
}

// Host returns the System of this process.
func Host() System {
	s := System{Environ: os.Environ()}.complete()
	s.Dir, _ = os.Getwd() // without one, relative paths stay relative
	if s.Home == "" {
		if u, err := user.Current(); err == nil {
			s.Home = u.HomeDir
		}
	}
	return s
}

// Format prints s without the values of variables.
func (s System) Format(f fmt.State, _ rune) {
	s = s.complete()
	fmt.Fprintf(f, "%s_%s, home %q, working directory %q, %d variables", s.GOOS, s.GOARCH, s.Home, s.Dir, len(s.Environ))
}

// complete returns s with default values for empty fields.
func (s System) complete() System {
	s.GOOS, s.GOARCH = cmp.Or(s.GOOS, runtime.GOOS), cmp.Or(s.GOARCH, runtime.GOARCH)
	if s.Environ == nil {
		s.Environ = []string{}
	}
	variable := "HOME"
	if s.windows() {
		variable = "USERPROFILE"
	}
	s.Home = cmp.Or(s.Home, s.getenv(variable))
	return s
}

func (s System) windows() bool { return s.GOOS == "windows" }

// defaultHost returns the host of addresses without one.
func (s System) defaultHost() svchost.Hostname {
	if s.Terraform {
		return svchost.MustParse("registry.terraform.io")
	}
	return addrs.DefaultHost()
}

// getenv returns the value of a variable, or "" if it is not set.
func (s System) getenv(name string) string { return s.variables()(name) }

// variables returns a faster getenv for many names. The last value of a name counts.
// Windows ignores the case of names.
func (s System) variables() func(name string) string {
	key := func(name string) string { return name }
	if s.windows() {
		key = strings.ToUpper
	}
	values := make(map[string]string, len(s.Environ))
	for _, entry := range s.Environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			values[key(name)] = value
		}
	}
	return func(name string) string { return values[key(name)] }
}

// stat returns the metadata of a file. On this machine, as in the CLI, the file can be
// unreadable.
func (s System) stat(name string) (fs.FileInfo, error) {
	if s.Open == nil {
		return os.Stat(name)
	}
	f, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// exists reports whether a file exists, from the error of stat. A file that Open cannot
// open exists, unless the error says that it is missing.
func (s System) exists(err error) bool {
	return err == nil || s.Open != nil && !isNotExist(err)
}

// mayExist reports whether a file that could not be read exists, other than behind a directory
// that cannot be searched.
func (s System) mayExist(name string) bool {
	_, err := s.stat(name)
	return s.exists(err)
}

// isNotExist reports whether err says that a file or its directory is missing.
func isNotExist(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// read returns the content of a file of at most maxFile bytes.
func (s System) read(ctx context.Context, name string) ([]byte, error) {
	if s.Open == nil {
		return fsx.ReadAny(ctx, name, maxFile)
	}
	if ctx.Err() != nil {
		return nil, fault.Ended(ctx)
	}
	f, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%w: more than %d bytes", failure.ErrTooLarge, maxFile)
	}
	return data, err
}

// list returns the names in a directory that keep selects. More than maxFiles names are
// [github.com/tofureg/tofureg/failure.ErrTooLarge].
func (s System) list(dir string, keep func(name string) bool) ([]string, error) {
	entries, err := s.readDir(dir)
	var names []string
	for _, e := range entries {
		if keep(e.Name()) {
			names = append(names, e.Name())
		}
	}
	if len(names) > maxFiles {
		return nil, fmt.Errorf("%w: more than %d files", failure.ErrTooLarge, maxFiles)
	}
	return names, err
}

func (s System) readDir(dir string) ([]fs.DirEntry, error) {
	if s.Open == nil {
		return os.ReadDir(dir) // does not wait if it is a pipe
	}
	f, err := s.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "list", Path: dir, Err: errors.New("not a directory")}
	}
	return d.ReadDir(-1)
}

// The environment variables of the CLI.
const (
	envConfigFile     = "TF_CLI_CONFIG_FILE"
	envConfigFileOld  = "TERRAFORM_CONFIG"
	envXDGCache       = "XDG_CACHE_HOME"
	envXDGConfig      = "XDG_CONFIG_HOME"
	envXDGData        = "XDG_DATA_HOME"
	envXDGDataDirs    = "XDG_DATA_DIRS"
	envPluginCache    = "TF_PLUGIN_CACHE_DIR"
	envMayBreak       = "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE"
	envRetry          = "TF_REGISTRY_DISCOVERY_RETRY"
	envTimeout        = "TF_REGISTRY_CLIENT_TIMEOUT"
	envDownloadRetry  = "TF_PROVIDER_DOWNLOAD_RETRY"
	envUserAgent      = "TF_APPEND_USER_AGENT"
	envReattach       = "TF_REATTACH_PROVIDERS"
	envEnforceSigned  = "OPENTOFU_ENFORCE_GPG_VALIDATION"
	envEnforceExpired = "OPENTOFU_ENFORCE_GPG_EXPIRATION"
)

// override returns the main file that a variable names, or "".
func (s System) override() (file, variable string) {
	for _, variable := range []string{envConfigFile, envConfigFileOld} {
		if file := s.getenv(variable); file != "" {
			return s.abs(file), variable
		}
	}
	return "", ""
}

// appData returns the directory for application settings on Windows.
func (s System) appData() string {
	return cmp.Or(s.getenv("APPDATA"), s.join(s.Home, "AppData", "Roaming"))
}

// mainFile returns the path of the main file, which can be missing.
func (s System) mainFile() string {
	dir, names := s.Home, []string{".tofurc", ".terraformrc"}
	if s.windows() {
		dir, names = s.appData(), []string{"tofu.rc", "terraform.rc"}
	}
	if s.Terraform {
		names = names[1:]
	}
	first := "" // the first file that exists or cannot be checked
	for _, name := range names {
		if dir == "" {
			break
		}
		file := s.join(dir, name)
		_, err := s.stat(file)
		if first == "" && !isNotExist(err) {
			first = file
		}
		if s.exists(err) {
			return first
		}
	}
	return cmp.Or(s.join(s.xdg(envXDGConfig), "tofurc"), first, s.join(dir, names[0]))
}

// xdg returns the directory of the CLI below the directory in a variable, or "".
func (s System) xdg(variable string) string {
	if s.windows() || s.Terraform {
		return ""
	}
	return s.join(s.getenv(variable), "opentofu")
}

// configDir returns the configuration directory, or "" if there is no home directory.
func (s System) configDir() string {
	if s.windows() {
		return s.join(s.appData(), "terraform.d")
	}
	dir := s.join(s.Home, ".terraform.d")
	if dir != "" {
		if _, err := s.stat(dir); s.exists(err) {
			return dir
		}
	}
	return cmp.Or(s.xdg(envXDGConfig), dir)
}

// dataDirs returns the directories of the user that can contain a directory "plugins".
func (s System) dataDirs() []string {
	if s.windows() {
		return nonEmpty(s.configDir())
	}
	return nonEmpty(s.join(s.Home, ".terraform.d"), s.xdg(envXDGData))
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

// stampDir returns the directory for the stamps of package install in the user's cache directory, or "".
func (s System) stampDir() string {
	cache := s.getenv(envXDGCache)
	if !s.isAbs(cache) {
		cache = s.join(s.Home, ".cache")
	}
	if s.GOOS != "linux" {
		return ""
	}
	return s.join(cache, "tofureg", "stamps")
}

// nonEmpty returns the paths that are not empty.
func nonEmpty(paths ...string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

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
