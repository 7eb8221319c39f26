package cliconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

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
	l.appendUserAgent()
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
		l.addWarning(Place{Variable: variable}, fmt.Sprintf("ignored value: it must be a whole number from 1 to %d", maxCount), nil)
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
		l.addWarning(Place{Variable: envUserAgent}, "ignored value: it contains characters that are invalid in an HTTP header", nil)
		return
	}
	l.set.userAgent = text
}

// validate checks the plugin cache directory.
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
