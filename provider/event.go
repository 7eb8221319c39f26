package provider

import (
	"time"

	"github.com/tofureg/tofureg/addrs"
)

// EventKind says what happened.
type EventKind string

// The kinds of events that [Download], [Receive] and [Hashes] report, and those that
// package install adds.
const (
	// EventBytes: Bytes of Total have arrived. It comes once when the transfer
	// starts, about ten times a second while it runs, and once at its end.
	EventBytes EventKind = "bytes"
	// EventResumed: the transfer broke and was taken up where it broke.
	EventResumed EventKind = "resumed"
	// EventRestarted: the file changed on the server; what had arrived was
	// dropped and Bytes counts from zero again. Err says why.
	EventRestarted EventKind = "restarted"
	// EventVerified: the package is what the policy wants. [Download] has put it at
	// its place by then.
	EventVerified EventKind = "verified"

	// EventResolving: the source is asked what there is.
	EventResolving EventKind = "resolving"
	// EventWaiting: another process, or another goroutine, is busy with the same
	// package. It comes once, before the wait.
	EventWaiting EventKind = "waiting"
	// EventUnpacking: the archive has arrived, and is being unpacked.
	EventUnpacking EventKind = "unpacking"
	// EventReused: the package was there already, and its content is what the
	// policy wants.
	EventReused EventKind = "reused"
	// EventInstalled: the package is verified, unpacked and at its place.
	EventInstalled EventKind = "installed"

	// EventHashed: the hashes of the package are known, and the policy accepts them.
	// Bytes is the size of the archive, or 0 if it did not have to come.
	EventHashed EventKind = "hashed"
	// EventStoreFailed: a HashStore could not be read or written, Err says why. The
	// job goes on without it.
	EventStoreFailed EventKind = "store failed"
)

// Event is one step of a job, for progress displays and logs. The calls for one
// job never overlap, and Bytes never falls but at EventRestarted.
//
// The last event of a package that succeeds is EventVerified from [Download],
// EventHashed from [Hashes], and EventInstalled from package install, there also behind
// EventReused. A failure has no event but where a function says so; it is the error that
// is returned.
type Event struct {
	Kind     EventKind      // what happened
	Provider addrs.Provider // that the package is one of
	Version  addrs.Version  // of the package
	Platform addrs.Platform // that the package is for
	Bytes    int64          // arrived so far
	Total    int64          // expected; 0: unknown
	Err      error          // what made the step necessary, where something did
}

// meter reports the events of one job, and not too many of them.
type meter struct {
	report  func(Event)
	event   Event
	resumes int
	last    time.Time // of the last EventBytes
}

// between two reports of bytes; eyes do not want more.
const interval = 100 * time.Millisecond

func newMeter(pkg *Package, report func(Event)) *meter {
	if report == nil {
		report = func(Event) {}
	}
	return &meter{report: report, event: Event{Provider: pkg.Provider, Version: pkg.Version, Platform: pkg.Platform}}
}

func (m *meter) send(kind EventKind, err error) {
	e := m.event
	e.Kind, e.Err = kind, err
	if kind == EventBytes {
		m.last = time.Now()
	}
	m.report(e)
}

func (m *meter) started(total int64) {
	m.event.Bytes, m.event.Total, m.resumes = 0, total, 0
	m.send(EventBytes, nil)
}

func (m *meter) advanced(size int64, resumes func() int) {
	m.event.Bytes = size
	if resumes != nil {
		if n := resumes(); n > m.resumes {
			m.resumes = n
			m.send(EventResumed, nil)
		}
	}
	if time.Since(m.last) >= interval {
		m.send(EventBytes, nil)
	}
}

func (m *meter) finished(size int64) {
	m.event.Bytes, m.event.Total = size, size
	m.send(EventBytes, nil)
}

func (m *meter) restarted(err error) {
	m.event.Bytes = 0
	m.send(EventRestarted, err)
}

func (m *meter) verified(size int64) {
	m.event.Bytes, m.event.Total = size, size
	m.send(EventVerified, nil)
}
