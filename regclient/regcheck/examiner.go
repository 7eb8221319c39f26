package regcheck

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/tofureg/tofureg/internal/weburl"
)

// examiner is one call of Examine. Checks use the results of earlier checks.
type examiner struct {
	whole    context.Context // of the caller
	ctx      context.Context // of the check that runs
	o        Options
	findings []Finding
	check    string
	limit    time.Duration // of the check that runs
	count    map[Level]int // of its findings
	broken   bool          // later checks cannot rely on this check
	good     map[string]bool

	base     *url.URL // of the server
	services map[string]*url.URL
	pkg      checkedPackage
	module   checkedModule
	mirror   checkedMirror

	mirrorAlone bool // there is no registry
}

// run makes a check if the checks that it needs have succeeded.
func (e *examiner) run(name string, do func() error, needs ...string) {
	e.check, e.count, e.broken = name, map[Level]int{}, false
	e.limit = cmp.Or(max(e.o.Timeout, 0), checkTimes[name], checkTime)
	if ended := context.Cause(e.whole); ended != nil {
		e.note(Failed, ended.Error())
		return
	}
	for _, need := range needs {
		if !e.good[need] {
			e.note(Skipped, "it needs the check "+need)
			return
		}
	}
	if err := e.within(do); err != nil {
		e.failf("%w", err)
	}
	e.good[name] = !e.broken
}

// within calls do with a context that ends after the time limit of the check.
func (e *examiner) within(do func() error) error {
	late := fmt.Errorf("no answer to the end within %v: the server hangs or is slow, see Options.Timeout", e.limit)
	ctx, cancel := context.WithTimeoutCause(e.whole, e.limit, late)
	defer cancel()
	e.ctx = ctx
	return do()
}

// failf notes a failure. Checks that need this one are skipped.
func (e *examiner) failf(format string, args ...any) {
	e.broken = true
	e.note(Failed, fmt.Errorf(format, args...).Error())
}

// insecure reports whether u must not be asked because it is an http URL. The file behind it is then
// not checked.
func (e *examiner) insecure(property string, u *url.URL) bool {
	if e.permitted(u) == nil {
		return false
	}
	e.note(Skipped, property+" is not an https URL, see Options.AllowHTTP")
	return true
}

// note adds a finding. A failure that it notes keeps no later check from running.
func (e *examiner) note(level Level, text string) {
	if e.count[level]++; e.count[level] == maxFindings+1 {
		text = "and more"
	} else if e.count[level] > maxFindings {
		return
	}
	e.findings = append(e.findings, Finding{e.check, level, weburl.Clean(weburl.RedactText(text), maxText)})
}
