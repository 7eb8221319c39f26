package module

import (
	"time"

	"github.com/tofureg/tofureg/addrs"
)

// EventKind is the kind of an [Event].
type EventKind string

// The kinds of events. Events with the same name in package
// [github.com/tofureg/tofureg/provider] mean the same.
const (
	// EventLocated: Location is known. It is reported again for each location that
	// another one points to.
	EventLocated EventKind = "located"
	// EventBytes: Bytes of Total have arrived. It is reported when the transfer starts,
	// about ten times a second while it runs, and at its end.
	EventBytes EventKind = "bytes"
	// EventResumed: the transfer broke and was resumed where it broke.
	EventResumed EventKind = "resumed"
	// EventRestarted: the file changed on the server. The transfer starts again and
	// Bytes counts from zero. Err is the reason.
	EventRestarted EventKind = "restarted"
	// EventStored: the package was verified and is in Dir.
	EventStored EventKind = "stored"
	// EventReused: the package was in Dir already.
	EventReused EventKind = "reused"
)

// Event is one step of a download, for progress displays and logs. For one Dir, Bytes grows
// until EventRestarted or another EventLocated.
type Event struct {
	Kind     EventKind     // what happened
	Module   addrs.Module  // the module; zero if the location did not come from a registry
	Version  addrs.Version // the version of Module
	Dir      string        // the directory for the package, as the caller named it
	Location string        // the location of the package, safe to print
	Bytes    int64         // the number of bytes that have arrived
	Total    int64         // the number of bytes expected; 0 if unknown
	Err      error         // the reason for the step; nil for most kinds
}

// meter reports the events of one job, at most ten EventBytes a second.
type meter struct {
	report  func(Event)
	event   Event
	resumes func() int
	resumed int
	last    time.Time // of the last EventBytes
}

// interval is the time between two reports of bytes.
const interval = 100 * time.Millisecond

func newMeter(report func(Event), loc *Location, dir string) *meter {
	if report == nil {
		report = func(Event) {}
	}
	return &meter{report: report, event: Event{Module: loc.Module, Version: loc.Version, Dir: dir}}
}

func (m *meter) send(kind EventKind, err error) {
	e := m.event
	e.Kind, e.Err = kind, err
	if kind == EventBytes {
		m.last = time.Now()
	}
	m.report(e)
}

func (m *meter) located(loc *Location) {
	m.event.Location, m.event.Bytes, m.event.Total = loc.String(), 0, 0
	m.send(EventLocated, nil)
}

func (m *meter) started(total int64, resumes func() int) {
	m.event.Bytes, m.event.Total = 0, max(total, 0)
	m.resumes, m.resumed = resumes, 0
	m.send(EventBytes, nil)
}

func (m *meter) advanced(n int) {
	m.event.Bytes += int64(n)
	if m.resumes != nil {
		if times := m.resumes(); times > m.resumed {
			m.resumed = times
			m.send(EventResumed, nil)
		}
	}
	if time.Since(m.last) >= interval {
		m.send(EventBytes, nil)
	}
}

func (m *meter) finished() {
	m.event.Total = m.event.Bytes
	m.send(EventBytes, nil)
}

func (m *meter) restarted(err error) {
	m.event.Bytes = 0
	m.send(EventRestarted, err)
}
