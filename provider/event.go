package provider

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
)

// EventKind is the kind of an [Event].
type EventKind string

// The events of [Download], [Receive] and [Hashes].
const (
	EventBytes       EventKind = "bytes"        // Bytes of Total have arrived; about ten times a second
	EventResumed     EventKind = "resumed"      // the transfer was resumed after a break
	EventRestarted   EventKind = "restarted"    // the transfer starts again, because of Err
	EventVerified    EventKind = "verified"     // [Download] has stored the accepted archive
	EventHashed      EventKind = "hashed"       // the hashes are accepted; Bytes is 0 without a download
	EventStoreFailed EventKind = "store failed" // a [HashStore] failed with Err; the job goes on
)

// The events that package [github.com/tofureg/tofureg/provider/install] adds.
const (
	EventResolving EventKind = "resolving" // the source is asked for versions
	EventWaiting   EventKind = "waiting"   // another process or goroutine works on the same package
	EventUnpacking EventKind = "unpacking" // the archive is being unpacked
	EventReused    EventKind = "reused"    // the package was installed before and is accepted
	EventInstalled EventKind = "installed" // the package is verified and installed
)

// Event is one step of a job. Calls for the same job never overlap. Bytes decreases only with
// EventRestarted. The last event of a package is EventVerified, EventHashed or EventInstalled.
// Failures are returned as errors only.
type Event struct {
	Kind     EventKind      // what happened
	Provider addrs.Provider // of the package
	Version  addrs.Version  // of the package
	Platform addrs.Platform // of the package
	Bytes    int64          // received
	Total    int64          // expected; 0 if unknown
	Err      error          // the cause, if any
}

// newMeter returns a meter that reports events about pkg.
func newMeter(pkg *Package, report func(Event)) *flight.Meter {
	m := &flight.Meter{Report: func(string, error) {}}
	if report != nil {
		m.Report = func(kind string, err error) {
			report(Event{EventKind(kind), pkg.Provider, pkg.Version, pkg.Platform, m.Bytes, m.Total, err})
		}
	}
	return m
}
