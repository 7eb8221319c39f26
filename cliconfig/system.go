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

// A System is what the configuration depends on: the environment, where the user is at
// home, the kind of operating system, and its files. [Host] returns that of this
// process. Programs that run for several users, and tests, make their own.
type System struct {
	// Environ is the environment, NAME=VALUE each, as [os.Environ] returns it. Nil
	// is an empty environment. It is also that of a credentials helper.
	Environ []string

	// Home is the user's home directory. If it is empty, it is what HOME in Environ
	// says, on Windows USERPROFILE; without that, nothing is looked for in it.
	Home string

	// Dir is the working directory, which relative paths begin at. If it is empty,
	// relative paths stay relative.
	Dir string

	// Terraform has the places and names of Terraform hold where those of OpenTofu are
	// others: there are no .tofurc and tofu.rc, the variables XDG_CONFIG_HOME and
	// XDG_DATA_HOME do not move the directories of the CLI, and a provider without a
	// host in a pattern or an override is at registry.terraform.io.
	Terraform bool

	// GOOS and GOARCH select the rules for places and paths, with the names of package
	// runtime; if empty, those of this program. Tests, which read the rules of all
	// systems on one, are why paths do not follow path/filepath.
	GOOS, GOARCH string

	// Open opens a file or directory under its name in the system, with its
	// separators. Directories must be [fs.ReadDirFile]. A file that is not there is
	// an error that wraps [fs.ErrNotExist]; after any other error it is there and
	// cannot be read. Nil means the files of this machine.
	Open func(name string) (fs.File, error)
}

// Host returns the System of this process: its environment, working directory and
// files. It is the only place of the module that reads the environment by itself, but
// for the proxies of the default HTTP client.
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

// Format prints, whatever the verb, which system s is, and how many variables it has: in
// their values there may be tokens.
func (s System) Format(f fmt.State, _ rune) {
	s = s.complete()
	fmt.Fprintf(f, "%s_%s, home %q, working directory %q, %d variables", s.GOOS, s.GOARCH, s.Home, s.Dir, len(s.Environ))
}

// complete returns s with the fields filled in that are empty.
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

// getenv returns the value of a variable, "" if it is not set.
func (s System) getenv(name string) string { return s.variables()(name) }

// variables returns getenv for many names. Of a variable that is set twice the last value
// counts. Windows ignores the case of names.
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

// full returns the pattern with a host, where the default is another one than that of
// package provider.
func (s System) full(pattern string) string {
	if s.Terraform && strings.Count(pattern, "/") == 1 {
		return s.defaultHost().Display() + "/" + pattern
	}
	return pattern
}

// openRegular opens a file or directory of this machine. To open a pipe would wait for
// somebody who writes into it.
func openRegular(name string) (fs.File, error) {
	f, err := fsx.OpenRegular(name)
	if errors.Is(err, fsx.ErrNotAFile) {
		if info, failed := os.Stat(name); failed == nil && info.IsDir() {
			return os.Open(name)
		}
	}
	if err != nil {
		return nil, err // not f, which is a nil pointer and no nil fs.File
	}
	return f, nil
}

func (s System) open(name string) (fs.File, error) {
	if s.Open == nil {
		return openRegular(name)
	}
	return s.Open(name)
}

// stat tells about a file. On this machine, as in the CLI, it need not be one that can be
// opened.
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

// exists reports whether there is a file, by the error of stat. What Open fails to open
// is there, unless the error says otherwise.
func (s System) exists(err error) bool {
	return err == nil || s.Open != nil && !absent(err)
}

// absent reports whether err says that there is no such file, not only that it cannot be
// looked at.
func absent(err error) bool {
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
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("it is a directory")}
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

// list returns the names in a directory that keep selects, in their order, and
// ErrTooLarge if there are more than MaxFiles.
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
