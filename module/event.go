package module

import (
	"time"

	"github.com/tofureg/tofureg/addrs"
)

// EventKind says what happened.
type EventKind string

// The kinds of events that the functions of this package report. Those with the
// same names in package provider mean the same.
const (
	// EventLocated: the package is at Location. It comes again for each
	// location that another one points to.
	EventLocated EventKind = "located"
	// EventBytes: Bytes of Total have arrived. It comes once when the transfer
	// starts, about ten times a second while it runs, and once at its end.
	EventBytes EventKind = "bytes"
	// EventResumed: the transfer broke and was taken up where it broke.
	EventResumed EventKind = "resumed"
	// EventRestarted: the file changed on the server; what had arrived was
	// dropped and Bytes counts from zero again. Err says why.
	EventRestarted EventKind = "restarted"
	// EventStored: the package is what was wanted, and at its place.
	EventStored EventKind = "stored"
	// EventReused: the same, and it was there already.
	EventReused EventKind = "reused"
)

// Event is one step of a job, for progress displays and logs. No two calls overlap,
// not even for the jobs of one [DownloadAll]. Bytes never falls for one Dir but at
// EventRestarted and at another location.
type Event struct {
	Kind     EventKind     // what happened
	Module   addrs.Module  // that the job is about; zero for a location from elsewhere
	Version  addrs.Version // of it
	Dir      string        // where the package goes, as the caller named it
	Location string        // where it comes from, safe to print
	Bytes    int64         // arrived so far
	Total    int64         // expected; 0: unknown
	Err      error         // what made the step necessary, where something did
}

// meter reports the events of one job, and not too many of them.
type meter struct {
	report  func(Event)
	event   Event
	resumes func() int
	resumed int
	last    time.Time // of the last EventBytes
}

// interval between two reports of bytes; eyes do not want more.
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
