package cliconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tofureg/tofureg/addrs"
)

// Load reads the configuration of a system: the files at the places that the package
// comment lists, and the environment. It runs nothing and asks nobody. A system without
// any configuration has that of the defaults.
//
// If something is wrong, the error is an [*Error] that tells of everything at once.
// Warnings alone are no error; [Config.Warnings] has them.
func Load(sys System) (*Config, error) { return load(sys, (*loader).files) }

// Parse is like [Load], but reads text as the only configuration file instead of the files
// of the system. The name of the file is for messages and places. The environment of the
// system counts, and the directories in it are looked for, as with Load.
func Parse(sys System, filename string, text []byte) (*Config, error) {
	return load(sys, func(l *loader) {
		if len(text) > MaxFile {
			l.fail(Place{File: filename}, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxFile))
			return
		}
		l.text(filename, text)
	})
}

func load(sys System, read func(*loader)) (*Config, error) {
	sys = sys.complete()
	l := &loader{sys: sys, set: newSettings(sys)}
	read(l)
	l.environment()
	l.validate()
	if l.problems.errors > 0 {
		return nil, &Error{Problems: l.problems.list}
	}
	l.findHelper()
	l.implicitMethods()
	return &Config{set: l.set, warnings: l.problems.list}, nil
}

// settings is what a configuration says. It does not change after Load.
type settings struct {
	system      func() System // a function, because package fmt shows what is in a field
	files       []string      // that were read
	credentials map[hostname]*credential
	store       string  // path of the credentials file
	helper      *helper // of the block, and nil if its program is not there
	hosts       map[hostname]*host

	installation *installation
	methods      []Method // of the installation, or the implicit ones
	devOverrides map[addrs.Provider]string

	oci         []OCICredential // of the blocks
	ociDefaults ociDefaults

	cacheDir     string
	cacheShown   string // cacheDir for messages, without what is in variables
	cachePlace   Place  // of cacheDir
	mayBreakLock bool
	requests     requests
	userAgent    string // to be appended
	enforce      struct{ signed, unexpired bool }
}

func (s *settings) environ() []string { return s.system().Environ }

func newSettings(sys System) *settings {
	return &settings{
		system:      func() System { return sys },
		credentials: map[hostname]*credential{},
		hosts:       map[hostname]*host{},
		requests:    requests{retries: 1, archiveRetries: 2}, // as in the CLI
	}
}

// loader reads a configuration.
type loader struct {
	sys      System
	set      *settings
	problems problems
}

// files reads the main file and then, unless the environment names another main file,
// those of the configuration directory.
func (l *loader) files() {
	dir := l.sys.configDir()
	l.set.store = l.sys.join(dir, "credentials.tfrc.json")
	if main, variable := l.sys.override(); variable != "" {
		l.mainFile(main, Place{Variable: variable})
		return
	}
	if main := l.sys.mainFile(); main != "" {
		l.mainFile(main, Place{})
	}
	if dir != "" {
		l.dir(dir)
	}
}

// mainFile reads the main file. One that cannot be opened is passed over; that is worth
// a warning unless it merely does not exist.
func (l *loader) mainFile(file string, by Place) {
	f, err := l.sys.open(file)
	if err != nil {
		if by.Variable != "" || !errors.Is(err, fs.ErrNotExist) {
			l.warning(by, "the configuration file cannot be opened and is ignored", err)
		}
		return
	}
	f.Close()
	l.file(file)
}

// dir reads the files of the configuration directory, if there is one, in the order of
// their names. As in the CLI, one that cannot be read is an error, and one that may not
// even be looked at is passed over; that is worth a warning.
func (l *loader) dir(dir string) {
	info, err := l.sys.stat(dir)
	switch {
	case absent(err), err == nil && !info.IsDir():
		return
	case !l.sys.exists(err):
		l.warning(Place{File: dir}, "the configuration directory cannot be opened and is ignored", err)
		return
	}
	names, err := l.sys.list(dir, func(name string) bool {
		return strings.HasSuffix(name, ".tfrc") || strings.HasSuffix(name, ".tfrc.json")
	})
	if err != nil {
		l.fail(Place{File: dir}, err)
	}
	slices.Sort(names)
	for _, name := range names {
		l.file(l.sys.join(dir, name))
	}
}

// file reads one file.
func (l *loader) file(file string) {
	data, err := l.sys.read(file)
	if err != nil {
		l.fail(Place{File: file}, err)
		return
	}
	l.text(file, data)
}

// text interprets the content of one file.
func (l *loader) text(file string, data []byte) {
	l.set.files = append(l.set.files, file)
	r := &fileReader{loader: l, file: file, src: strings.ReplaceAll(string(data), "\r\n", "\n")}
	r.lines = indexLines(r.src)
	items, err := r.parse()
	if e, ok := errors.AsType[*problemAt](err); ok {
		r.wrong(e.at, "%s", e.text)
		return
	}
	r.top(items)
}

// fail reports a problem that another package has found.
func (l *loader) fail(at Place, err error) {
	l.problems.add(&Problem{Place: at, Message: oneLine(err), Err: err})
}

// warning reports a problem that does not make Load fail. The error may be nil.
func (l *loader) warning(at Place, message string, err error) {
	if err != nil {
		message += ": " + oneLine(err)
	}
	l.problems.add(&Problem{Place: at, Warning: true, Message: message, Err: err})
}

// fileReader interprets one file.
type fileReader struct {
	*loader
	file, src string
	lines     lineIndex
	json      bool
	protocols *item // the first block of that name
}

// parse reads the syntax. As in the CLI, it is the content that tells which one it is.
func (r *fileReader) parse() ([]item, error) {
	if i := invalidUTF8(r.src); i >= 0 {
		return nil, wrong(i, "the file is not encoded in UTF-8")
	}
	if i := strings.IndexByte(r.src, 0); i >= 0 {
		return nil, wrong(i, "the file contains a null character")
	}
	if strings.HasPrefix(r.src, "\ufeff") {
		return nil, wrong(0, "the file starts with a byte order mark, which the CLI does not accept; save it as UTF-8 without one")
	}
	if r.json = strings.HasPrefix(strings.TrimSpace(r.src), "{"); r.json {
		return parseJSON(r.src)
	}
	return parseNative(r.src)
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(s string) int {
	for i, c := range s {
		if _, size := utf8.DecodeRuneInString(s[i:]); c == utf8.RuneError && size == 1 {
			return i
		}
	}
	return -1
}

func (r *fileReader) place(at int) Place { return r.lines.place(r.file, at) }

// wrong reports an error, warn a warning.
func (r *fileReader) wrong(at int, format string, args ...any) {
	r.problems.add(&Problem{Place: r.place(at), Message: fmt.Sprintf(format, args...)})
}

func (r *fileReader) warn(at int, format string, args ...any) {
	r.warning(r.place(at), fmt.Sprintf(format, args...), nil)
}

// oneLine returns the text of an error in one line of printable characters.
func oneLine(err error) string {
	return printable(strings.Join(strings.Fields(err.Error()), " "))
}
