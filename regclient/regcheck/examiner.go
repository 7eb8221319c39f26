package regcheck

import (
	"cmp"
	"context"
	"fmt"
	"net/url"

	"github.com/tofureg/tofureg/addrs"
)

// examiner does one Examine. What one check finds out, later ones use.
type examiner struct {
	whole    context.Context // of the caller
	ctx      context.Context // of the check that runs
	o        Options
	findings []Finding
	check    string
	count    map[Level]int // of its findings
	good     map[string]bool

	base     *url.URL // of the server
	services map[string]*url.URL
	pkg      checkedPackage
	module   addrs.Module
	location string   // of its package
	asked    *url.URL // for the location
	mirror   checkedMirror

	mirrorAlone    bool // whether there is no other server
	direct         bool // whether the location is that of the registry itself
	tokenForModule bool // whether that wants the token
}

// run does a check if those that it needs have succeeded.
func (e *examiner) run(name string, do func() error, needs ...string) {
	e.check, e.count = name, map[Level]int{}
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
	limit := cmp.Or(max(e.o.Timeout, 0), checkTimes[name], checkTime)
	late := fmt.Errorf("no answer to the end within %v: the server hangs or is slow, see Options.Timeout", limit)
	ctx, cancel := context.WithTimeoutCause(e.whole, limit, late)
	defer cancel()
	e.ctx = ctx
	if err := do(); err != nil {
		e.failf("%w", err)
	}
	e.good[name] = e.count[Failed] == 0
}

func (e *examiner) failf(format string, args ...any) {
	e.note(Failed, fmt.Errorf(format, args...).Error())
}

func (e *examiner) note(level Level, text string) {
	if e.count[level]++; e.count[level] == maxFindings+1 {
		text = "and more"
	} else if e.count[level] > maxFindings {
		return
	}
	e.findings = append(e.findings, Finding{e.check, level, printable(text)})
}
