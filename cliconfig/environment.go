package cliconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
)

// environment reads the settings that are variables. They have precedence over files.
func (l *loader) environment() {
	s := l.set
	if dir := l.sys.getenv(envPluginCache); dir != "" {
		s.cacheDir = l.sys.abs(dir) // no variables are replaced in a variable
		s.cacheShown = s.cacheDir
		s.origin("plugin_cache_dir", Place{Variable: envPluginCache})
	}
	if on := l.sys.getenv(envMayBreak); on != "" && on != "0" {
		s.mayBreakLock = true
		s.origin("plugin_cache_may_break_dependency_lock_file", Place{Variable: envMayBreak})
	}
	if n, ok := l.positive(envRetry); ok {
		s.setRetries(n, Place{Variable: envRetry})
	}
	if n, ok := l.positive(envTimeout); ok {
		s.setTimeout(n, Place{Variable: envTimeout})
	}
	if n, ok := l.positive(envDownloadRetry); ok {
		s.protocols.downloadRetries = &n
		s.origin("download_retry_count", Place{Variable: envDownloadRetry})
	}
	if s.enforce.signed = l.sys.getenv(envEnforceSigned) == "true"; s.enforce.signed {
		s.origin("policy.require_signature", Place{Variable: envEnforceSigned})
	}
	if s.enforce.unexpired = l.sys.getenv(envEnforceExpired) == "true"; s.enforce.unexpired {
		s.origin("policy.refuse_expired", Place{Variable: envEnforceExpired})
	}
	l.appendUserAgent()
	l.tokens()
}

// positive returns the number in a variable. The CLI ignores what is none, or not
// positive, without a word.
func (l *loader) positive(variable string) (int, bool) {
	v := l.sys.getenv(variable)
	if v == "" {
		return 0, false
	}
	n, err := strconv.Atoi(v)
	if err != nil || n <= 0 || n > maxCount {
		l.problems.add(&Problem{Place: Place{Variable: variable}, Warning: true,
			Message: fmt.Sprintf("the value is not a whole number from 1 to %d and is ignored", maxCount)})
		return 0, false
	}
	return n, true
}

func (l *loader) appendUserAgent() {
	text := strings.TrimSpace(l.sys.getenv(envUserAgent))
	if text == "" {
		return
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		l.problems.add(&Problem{Place: Place{Variable: envUserAgent}, Warning: true,
			Message: "the value contains characters that a header cannot, and is ignored"})
		return
	}
	l.set.userAgent = text
	l.set.origin("user_agent", Place{Variable: envUserAgent})
}

// tokens notes which variables hold tokens, for the report only: [auth.Environ] is what
// reads them. As there, the last name in byte order counts.
func (l *loader) tokens() {
	values := map[string]string{}
	for _, entry := range l.sys.Environ {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, envToken) {
			values[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] == "" {
			continue
		}
		spelled := strings.ReplaceAll(strings.ReplaceAll(name[len(envToken):], "__", "-"), "_", ".")
		host, err := svchost.FromWire(spelled)
		if err != nil {
			continue
		}
		at := Place{Variable: name}
		if other := l.set.variables[host]; other != "" {
			l.problems.add(&Problem{Place: at, Warning: true,
				Message: fmt.Sprintf("%s is for %s as well; the last name in byte order counts", printable(other), host.Display())})
		}
		l.set.variables[host] = name
		l.set.origin(setting("credentials", host.Display()), at)
	}
}

// validate checks what needs the whole configuration.
func (l *loader) validate() {
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
		why = "does not exist; the CLI does not make it"
	case err != nil:
		why = "cannot be opened: " + oneLine(err)
	case !info.IsDir():
		why = "is not a directory"
	default:
		return
	}
	at := l.set.origins["plugin_cache_dir"].Place
	l.problems.add(&Problem{Place: at, Message: "the plugin cache directory " + shown(l.set.cacheShown) + " " + why, Err: err})
}
