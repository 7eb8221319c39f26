package provider

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
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

// newMeter returns the meter of a job that reports events of pkg.
func newMeter(pkg *Package, report func(Event)) *flight.Meter {
	m := &flight.Meter{Report: func(string, error) {}}
	if report != nil {
		m.Report = func(kind string, err error) {
			report(Event{EventKind(kind), pkg.Provider, pkg.Version, pkg.Platform, m.Bytes, m.Total, err})
		}
	}
	return m
}
