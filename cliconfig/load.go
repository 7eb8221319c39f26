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

// Load reads a configuration. It sends no requests and runs no programs. The error is an
// [*Error].
//
// The main file is the first of these files that exists:
//
//	the file in TF_CLI_CONFIG_FILE, or in TERRAFORM_CONFIG
//	~/.tofurc                          on Windows %APPDATA%\tofu.rc
//	~/.terraformrc                     on Windows %APPDATA%\terraform.rc
//	$XDG_CONFIG_HOME/opentofu/tofurc   not on Windows
//
// Unless a variable names the main file, Load then reads the files *.tfrc and *.tfrc.json
// of the configuration directory, sorted by name:
//
//	~/.terraform.d                     on Windows %APPDATA%\terraform.d
//	$XDG_CONFIG_HOME/opentofu          not on Windows, if ~/.terraform.d does not exist
//
// A file that starts with { is JSON. A main file that cannot be opened is ignored with a
// warning, but other unreadable files are errors.
//
// The last credentials or host block for a host counts. Unknown settings are ignored with
// a warning. An unknown installation method, or a second block provider_installation,
// credentials_helper or oci_default_credentials, is an error.
func Load(sys System) (*Config, error) { return load(sys, (*loader).files) }

// Parse is like [Load] with text as the only file. The filename appears in problems.
func Parse(sys System, filename string, text []byte) (*Config, error) {
	return load(sys, func(l *loader) {
		if len(text) > MaxFile {
			l.addError(Place{File: filename}, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxFile))
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

// settings are the values of a configuration. They do not change after Load.
type settings struct {
	system      func() System // a function, because package fmt prints the content of fields
	files       []string      // read by Load
	credentials map[hostname]*credential
	store       string  // path of the credentials file
	helper      *helper // nil if there is no block, or its program is missing
	hosts       map[hostname]*host

	installation *installation
	methods      []Method // of the block, or the implicit methods
	devOverrides map[addrs.Provider]string

	oci         []OCICredential // from the blocks
	ociDefaults ociDefaults

	cacheDir     string
	cacheShown   string // cacheDir for messages, without the values of variables
	cachePlace   Place  // of the setting
	mayBreakLock bool
	requests     requests
	userAgent    string // appended to the User-Agent
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

// A loader reads a configuration.
type loader struct {
	sys      System
	set      *settings
	problems problems
}

// files reads the main file and, unless a variable names it, the files of the configuration
// directory.
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

// mainFile reads the main file. If it cannot be opened, it is ignored, with a warning
// unless it is missing and no variable names it.
func (l *loader) mainFile(file string, by Place) {
	f, err := l.sys.open(file)
	if err != nil {
		if by.Variable != "" || !errors.Is(err, fs.ErrNotExist) {
			l.addWarning(by, "the configuration file cannot be opened and is ignored", err)
		}
		return
	}
	f.Close()
	l.file(file)
}

// dir reads the files of the configuration directory, sorted by name. As in the CLI, an
// unreadable directory is an error, and one without access to its metadata is ignored,
// with a warning.
func (l *loader) dir(dir string) {
	info, err := l.sys.stat(dir)
	switch {
	case isNotExist(err), err == nil && !info.IsDir():
		return
	case !l.sys.exists(err):
		l.addWarning(Place{File: dir}, "the configuration directory cannot be opened and is ignored", err)
		return
	}
	names, err := l.sys.list(dir, func(name string) bool {
		return strings.HasSuffix(name, ".tfrc") || strings.HasSuffix(name, ".tfrc.json")
	})
	if err != nil {
		l.addError(Place{File: dir}, err)
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
		l.addError(Place{File: file}, err)
		return
	}
	l.text(file, data)
}

// text reads the settings in the content of a file.
func (l *loader) text(file string, data []byte) {
	l.set.files = append(l.set.files, file)
	r := &fileReader{loader: l, file: file, src: strings.ReplaceAll(string(data), "\r\n", "\n")}
	r.lines = indexLines(r.src)
	items, err := r.parse()
	if e, ok := errors.AsType[*problemAt](err); ok {
		r.errorf(e.at, "%s", e.text)
		return
	}
	r.top(items)
}

// addError reports an error of another package.
func (l *loader) addError(at Place, err error) {
	l.problems.add(&Problem{Place: at, Message: oneLine(err), Err: err})
}

// addWarning reports a problem that does not make Load fail. The error may be nil.
func (l *loader) addWarning(at Place, message string, err error) {
	if err != nil {
		message += ": " + oneLine(err)
	}
	l.problems.add(&Problem{Place: at, Warning: true, Message: message, Err: err})
}

// A fileReader reads the settings of one file.
type fileReader struct {
	*loader
	file, src string
	lines     lineIndex
	json      bool
	protocols *item // the first block registry_protocols
}

// parse reads the syntax. As in the CLI, the content determines which syntax it is.
func (r *fileReader) parse() ([]item, error) {
	if i := invalidUTF8(r.src); i >= 0 {
		return nil, syntaxError(i, "the file is not encoded in UTF-8")
	}
	if i := strings.IndexByte(r.src, 0); i >= 0 {
		return nil, syntaxError(i, "the file contains a null character")
	}
	if strings.HasPrefix(r.src, "\ufeff") {
		return nil, syntaxError(0, "the file starts with a byte order mark, which the CLI does not accept; save it as UTF-8 without one")
	}
	if r.json = strings.HasPrefix(strings.TrimSpace(r.src), "{"); r.json {
		return parseJSON(r.src)
	}
	return (&parser{scanner: scanner{src: r.src}}).items(lexeme{kind: atEOF})
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

// errorf and warnf report a problem at an offset of the file.
func (r *fileReader) errorf(at int, format string, args ...any) {
	r.problems.add(&Problem{Place: r.place(at), Message: fmt.Sprintf(format, args...)})
}

func (r *fileReader) warnf(at int, format string, args ...any) {
	r.addWarning(r.place(at), fmt.Sprintf(format, args...), nil)
}

// oneLine returns the text of an error in one line, with a quoted form of control characters.
func oneLine(err error) string {
	return printable(strings.Join(strings.Fields(err.Error()), " "))
}
