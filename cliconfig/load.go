package cliconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
)

// Load reads a configuration. It sends no requests and runs no programs. The error is an [*Error]. Load waits for pipes
// until ctx ends.
//
// TF_CLI_CONFIG_FILE or else TERRAFORM_CONFIG names the main file. If both are empty, it is the first of these that
// exists:
//
//	~/.tofurc                          on Windows %APPDATA%\tofu.rc
//	~/.terraformrc                     on Windows %APPDATA%\terraform.rc
//	$XDG_CONFIG_HOME/opentofu/tofurc   if set, not on Windows
//
// If both are empty, Load also reads *.tfrc and *.tfrc.json of this directory, sorted by name:
//
//	~/.terraform.d                     on Windows %APPDATA%\terraform.d
//	$XDG_CONFIG_HOME/opentofu          not on Windows, if ~/.terraform.d does not exist
//
// A file that starts with { is JSON. A file that cannot be read and a pipe without a byte are errors. As in the CLI, it
// is a warning if the variable names a missing file, or if the home directory cannot be searched.
//
// Of several credentials or host blocks for a host, the last counts. Unknown settings are warnings. Unlike the CLI, Load
// refuses a network mirror URL with a space, query, fragment or user name. In JSON it accepts an installation method
// that is an object, not a list.
//
// A configuration has at most 1,000 files of 1 MiB, together 8 MiB and 100,000 words, 64 nested levels and 1,000
// installation methods. More is [failure.ErrTooLarge].
func Load(ctx context.Context, sys System) (*Config, error) {
	l := newLoader(sys)
	l.files(ctx)
	return l.finish()
}

// Parse is [Load] of one file with this text.
func Parse(sys System, filename string, text []byte) (*Config, error) {
	l := newLoader(sys)
	if len(text) > maxFile {
		l.problems.fail(Place{File: filename}, fmt.Errorf("%w: more than %d bytes", failure.ErrTooLarge, maxFile))
	} else {
		l.text(filename, text)
	}
	return l.finish()
}

// settings are the values of a configuration. They do not change after Load.
type settings struct {
	system      func() System // a function, because package fmt prints the content of fields
	files       []string      // read by Load
	credentials map[svchost.Hostname]*credential
	store       string  // path of the credentials file
	helper      *helper // nil if there is no block, or its program is missing
	hosts       map[svchost.Hostname]*host

	installation *installation
	modules      *moduleInstallation
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
	reattached   []addrs.Provider
	enforce      struct{ signed, unexpired bool }
}

func newSettings(sys System) *settings {
	return &settings{
		system:      func() System { return sys },
		credentials: map[svchost.Hostname]*credential{},
		hosts:       map[svchost.Hostname]*host{},
		requests:    requests{retries: 1, archiveRetries: 2}, // as in the CLI
	}
}

// requests are the settings of requests, with values as in a transport.Settings: a negative
// number disables a feature, and a timeout of 0 is the default.
type requests struct {
	retries, archiveRetries int
	timeout                 time.Duration
}

// A loader reads a configuration.
type loader struct {
	sys      System
	set      *settings
	problems *problems

	bytes, words int // of all files
}

func newLoader(sys System) *loader {
	sys = sys.complete()
	l := &loader{sys: sys, set: newSettings(sys), problems: &problems{}}
	l.set.store = sys.join(sys.configDir(), "credentials.tfrc.json")
	return l
}

// files reads the main file and, unless a variable names it, the files of the configuration
// directory, sorted by name.
func (l *loader) files(ctx context.Context) {
	dir := l.sys.configDir()
	main, variable := l.sys.override()
	if variable == "" {
		main = l.sys.mainFile()
	}
	if main != "" {
		l.main(ctx, main, variable)
	}
	if variable != "" || dir == "" {
		return
	}
	// As in the CLI, an unreadable directory is an error, and one without access to its
	// metadata is ignored.
	info, err := l.sys.stat(dir)
	switch {
	case isNotExist(err), err == nil && !info.IsDir():
		return
	case !l.sys.exists(err):
		l.problems.warn(Place{File: dir}, "the configuration directory cannot be opened and is ignored", err)
		return
	}
	names, err := l.sys.list(dir, func(name string) bool {
		return strings.HasSuffix(name, ".tfrc") || strings.HasSuffix(name, ".tfrc.json")
	})
	if err != nil {
		l.problems.fail(Place{File: dir}, err)
	}
	slices.Sort(names)
	for _, name := range names {
		if l.bytes > maxTotal {
			return
		}
		file := l.sys.join(dir, name)
		data, err := l.sys.read(ctx, file)
		if err != nil {
			l.problems.fail(Place{File: file}, err)
			continue
		}
		l.text(file, data)
	}
}

// main reads the main file, which a variable may have named. It is opened once, because a pipe has
// its content once.
func (l *loader) main(ctx context.Context, file, variable string) {
	data, err := l.sys.read(ctx, file)
	switch {
	case err == nil:
		l.text(file, data)
	case variable == "" && errors.Is(err, fs.ErrNotExist):
	case isNotExist(err), variable == "" && !l.sys.mayExist(file):
		l.problems.warn(Place{Variable: variable}, "the configuration file cannot be opened and is ignored", err)
	default:
		l.problems.fail(Place{File: file}, err)
	}
}

// text reads the settings in the content of a file.
func (l *loader) text(file string, data []byte) {
	if l.bytes += len(data); l.bytes > maxTotal {
		l.problems.fail(Place{File: file}, fmt.Errorf("%w: more than %d bytes in all files", failure.ErrTooLarge, maxTotal))
		return
	}
	l.set.files = append(l.set.files, file)
	src := strings.ReplaceAll(string(data), "\r\n", "\n")
	r := &fileReader{sys: l.sys, set: l.set, problems: l.problems, file: file, lines: []int{0}}
	for i := range len(src) {
		if src[i] == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	items, json, err := parse(src, !l.sys.Terraform, &l.words)
	if e, ok := errors.AsType[*problemAt](err); ok {
		r.problems.fail(r.place(e.at), e.error)
		return
	}
	r.json = json
	r.top(items)
}

// finish adds what does not come from files, and checks the result.
func (l *loader) finish() (*Config, error) {
	l.environment()
	l.checkCacheDir()
	if l.problems.errors > 0 {
		return nil, &Error{Problems: l.problems.list}
	}
	if h := l.set.helper; h != nil {
		if h.path = l.sys.findHelper(h.name); h.path == "" { // as in the CLI, it is ignored
			l.set.helper = nil
			l.problems.warn(h.place, "ignored credentials helper: the plugin directories do not contain its program "+quote(helperPrefix+h.name), nil)
		}
	}
	if in := l.set.installation; in != nil {
		l.set.methods, l.set.devOverrides = in.methods, in.overrides
	} else {
		l.implicitMethods()
	}
	return &Config{set: l.set, warnings: l.problems.list}, nil
}

// environment reads the settings in variables. They have precedence over files.
func (l *loader) environment() {
	s := l.set
	if dir := l.sys.getenv(envPluginCache); dir != "" {
		s.cacheDir = l.sys.abs(dir) // variables in its value are not expanded
		s.cacheShown = s.cacheDir
		s.cachePlace = Place{Variable: envPluginCache}
	}
	if on := l.sys.getenv(envMayBreak); on != "" && on != "0" {
		s.mayBreakLock = true
	}
	if n, ok := l.positive(envRetry); ok {
		s.requests.retries = n
	}
	if n, ok := l.positive(envTimeout); ok {
		s.requests.timeout = time.Duration(n) * time.Second
	}
	if n, ok := l.positive(envDownloadRetry); ok {
		s.requests.archiveRetries = n
	}
	s.enforce.signed = l.sys.getenv(envEnforceSigned) == "true"
	s.enforce.unexpired = l.sys.getenv(envEnforceExpired) == "true"
	l.reattached()
	agent := strings.TrimSpace(l.sys.getenv(envUserAgent))
	if strings.ContainsFunc(agent, func(r rune) bool { return r < ' ' || r > '~' }) {
		l.problems.warn(Place{Variable: envUserAgent}, "ignored value: it contains characters that are invalid in an HTTP header", nil)
		return
	}
	s.userAgent = agent
}

// reattached reads the names of the providers that run already.
func (l *loader) reattached() {
	text := l.sys.getenv(envReattach)
	if text == "" {
		return
	}
	var all map[string]struct{}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		l.problems.fail(Place{Variable: envReattach}, errors.New("it is not a JSON object with a provider for each name"))
		return
	}
	for name := range all {
		p, err := addrs.ParseProviderIn(l.sys.defaultHost(), name)
		if err != nil {
			l.problems.fail(Place{Variable: envReattach}, err)
			return
		}
		l.set.reattached = append(l.set.reattached, p)
	}
	slices.SortFunc(l.set.reattached, addrs.Provider.Compare)
}

// positive returns the number in a variable. Other values are ignored, in the CLI without
// a warning.
func (l *loader) positive(variable string) (int, bool) {
	v := l.sys.getenv(variable)
	if v == "" {
		return 0, false
	}
	n, err := strconv.Atoi(v)
	if err != nil || n <= 0 || n > maxCount {
		l.problems.warn(Place{Variable: variable}, fmt.Sprintf("ignored value: it must be a whole number from 1 to %d", maxCount), nil)
		return 0, false
	}
	return n, true
}

// checkCacheDir checks the plugin cache directory.
func (l *loader) checkCacheDir() {
	dir := l.set.cacheDir
	if dir == "" {
		return
	}
	why := ""
	info, err := l.sys.stat(dir)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // without the path
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "does not exist; create it"
	case err != nil:
		why = "cannot be opened: " + oneLine(err)
	case !info.IsDir():
		why = "is not a directory"
	default:
		return
	}
	l.problems.add(&Problem{Place: l.set.cachePlace, Message: "the plugin cache directory " + quote(l.set.cacheShown) + " " + why, Err: err})
}
