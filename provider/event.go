package provider

import (
	"github.com/tofureg/tofureg/addrs"
)

// EventKind says what happened.
type EventKind string

// The kinds of events that Download and Receive report.
const (
	// EventBytes: Bytes of Total have arrived. It comes once when the transfer
	// starts, about ten times a second while it runs, and once at its end.
	EventBytes EventKind = "bytes"
	// EventResumed: the transfer broke and was taken up where it broke.
	EventResumed EventKind = "resumed"
	// EventRestarted: the file changed on the server; what had arrived was
	// dropped and Bytes counts from zero again. Err says why.
	EventRestarted EventKind = "restarted"
	// EventVerified: the bytes are what the policy wants.
	EventVerified EventKind = "verified"
)

// Event is one step of a job, for progress displays and logs. The calls for one
// job never overlap, and between restarts Bytes never falls.
type Event struct {
	Kind     EventKind
	Provider addrs.Provider
	Version  addrs.Version
	Platform addrs.Platform
	Bytes    int64 // arrived so far
	Total    int64 // expected; 0: unknown
	Err      error // what made the step necessary, where something did
}
