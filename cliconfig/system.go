package cliconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"runtime"
	"strings"
	"syscall"

	"github.com/tofureg/tofureg/internal/fsx"
)

// A System has the variables, directories and files that a configuration depends on. Programs
// use [Host]; tests, and servers for several users, create their own.
type System struct {
	// Environ are the variables in the form NAME=VALUE, also for credentials helpers.
	Environ []string

	// Home is the home directory. If empty, it is HOME in Environ (USERPROFILE on Windows).
	Home string

	// Dir is the working directory. If empty, relative paths stay relative.
	Dir string

	// Terraform selects the rules of Terraform: .tofurc, tofu.rc, XDG_CONFIG_HOME and
	// XDG_DATA_HOME are ignored, and the default host is registry.terraform.io.
	Terraform bool

	// GOOS and GOARCH select the rules for files and paths. If empty, package runtime has
	// them.
	GOOS, GOARCH string

	// Open opens a file, or a directory as an [fs.ReadDirFile]. The error for a missing
	// file wraps [fs.ErrNotExist]. If nil, the files of this machine are used.
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

// Format prints s without the values of variables, which can be tokens.
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

// withDefaultHost adds the default host of Terraform to a pattern without a host.
func (s System) withDefaultHost(pattern string) string {
	if s.Terraform && strings.Count(pattern, "/") == 1 {
		return s.defaultHost().Display() + "/" + pattern
	}
	return pattern
}

// openRegular opens a file or directory of this machine. It refuses pipes, which could
// block.
func openRegular(name string) (fs.File, error) {
	f, err := fsx.OpenRegular(name)
	if errors.Is(err, fsx.ErrNotAFile) {
		if info, failed := os.Stat(name); failed == nil && info.IsDir() {
			return os.Open(name)
		}
	}
	if err != nil {
		return nil, err // f is not a nil fs.File
	}
	return f, nil
}

func (s System) open(name string) (fs.File, error) {
	if s.Open == nil {
		return openRegular(name)
	}
	return s.Open(name)
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

// isNotExist reports whether err says that a file or its directory is missing.
func isNotExist(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// read returns the content of a file of at most MaxFile bytes.
func (s System) read(name string) ([]byte, error) {
	f, err := s.open(name)
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
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxFile)
	}
	return data, err
}

// list returns the names in a directory that keep selects. More than MaxFiles names are
// ErrTooLarge.
func (s System) list(dir string, keep func(name string) bool) ([]string, error) {
	f, err := s.open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "list", Path: dir, Err: errors.New("not a directory")}
	}
	entries, err := d.ReadDir(-1)
	var names []string
	for _, e := range entries {
		if keep(e.Name()) {
			names = append(names, e.Name())
		}
	}
	if len(names) > MaxFiles {
		return nil, fmt.Errorf("%w: more than %d files", ErrTooLarge, MaxFiles)
	}
	return names, err
}
