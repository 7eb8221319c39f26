package module

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
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

// newMeter returns the meter of a job that reports events of its location.
func (j *job) newMeter(m addrs.Module, v addrs.Version) *flight.Meter {
	meter := &flight.Meter{Report: func(string, error) {}}
	if report := j.o.Progress; report != nil {
		meter.Report = func(kind string, err error) {
			report(Event{EventKind(kind), m, v, j.dir, j.at, meter.Bytes, meter.Total, err})
		}
	}
	return meter
}
