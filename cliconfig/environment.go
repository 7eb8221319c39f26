package cliconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// environment reads the settings that are variables. They have precedence over files.
func (l *loader) environment() {
	s := l.set
	if dir := l.sys.getenv(envPluginCache); dir != "" {
		s.cacheDir = l.sys.abs(dir) // no variables are replaced in a variable
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

// positive returns the number in a variable. The CLI ignores what is none, or not
// positive, without a word.
func (l *loader) positive(variable string) (int, bool) {
	v := l.sys.getenv(variable)
	if v == "" {
		return 0, false
	}
	n, err := strconv.Atoi(v)
	if err != nil || n <= 0 || n > maxCount {
		l.warning(Place{Variable: variable}, fmt.Sprintf("the value is not a whole number from 1 to %d and is ignored", maxCount), nil)
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
		l.warning(Place{Variable: envUserAgent}, "the value contains characters that a header cannot, and is ignored", nil)
		return
	}
	l.set.userAgent = text
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
	l.problems.add(&Problem{Place: l.set.cachePlace, Message: "the plugin cache directory " + shown(l.set.cacheShown) + " " + why, Err: err})
}
