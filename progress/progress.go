// Package progress has the events that long calls report, and counts the bytes of transfers for them. It is meant for
// 1.0.
//
// One function can take the events of all calls, and draw one bar for them:
//
//	d := workdir.New(config, ".")
//	d.Modules.Progress, d.Installer.Progress = show, show // calls of one Prepare never overlap
package progress

import (
	"time"

	"github.com/tofureg/tofureg/addrs"
)

// Kind is the kind of an [Event].
type Kind string

// The steps of a transfer.
const (
	Bytes     Kind = "bytes"     // Bytes of Total have arrived; about ten times a second
	Resumed   Kind = "resumed"   // after a break
	Restarted Kind = "restarted" // because of Err
)

// The steps before and after it.
const (
	Resolving   Kind = "resolving"    // the source is asked for versions of a provider
	HeldBack    Kind = "held"         // see Event.Held
	Located     Kind = "located"      // Location is known, or has changed
	Waiting     Kind = "waiting"      // another process or goroutine works on the same package
	Unpacking   Kind = "unpacking"    // the archive has arrived
	Verified    Kind = "verified"     // the archive is accepted; if downloaded, the file is in place
	Hashed      Kind = "hashed"       // the hashes are accepted
	StoreFailed Kind = "store failed" // a store of hashes failed with Err; the job goes on
)

// The last step of a package, unless that is Verified or Hashed.
const (
	Stored    Kind = "stored"    // a module is verified and in its directory
	Installed Kind = "installed" // a provider is verified and in its directory
	Reused    Kind = "reused"    // the directory had the package before; an Installer then sends Installed too
	Kept      Kind = "kept"      // a mirror has the archive already
	Checked   Kind = "checked"   // the archive of a mirror has been read
	Failed    Kind = "failed"    // because of Err
)

// Event is one step of the work on a package. Provider, Platform, Module and Dir together tell packages apart: a bar adds
// the last Bytes and the last Total of each.
type Event struct {
	Kind Kind // what happened

	Provider addrs.Provider // zero for a module
	Platform addrs.Platform // of the provider
	Module   addrs.Module   // zero for a provider, and for a module that is not from a registry
	Dir      string         // of the module, as in the request; a staging directory if workdir makes it; empty for a provider
	Location string         // of the module, once it is known
	Version  addrs.Version  // zero before one is selected

	// Bytes is what has arrived, also in later events; of Kept and Checked, the size. It is 0 without a transfer, and
	// when one starts.
	Bytes int64

	// Total is what is expected; 0 if unknown, as from git. A restart does not lower it. At the end it is Bytes.
	Total int64

	Err  error  // the cause, if any
	Held []Held // of HeldBack: the versions that would fit, newest first
}

// Held is a version that is held back.
type Held struct {
	Version addrs.Version // newer than the selected one
	Until   time.Time     // when it will be listed; zero if that is unknown
}

// A Meter counts and reports the bytes of a package, for example in a [github.com/tofureg/tofureg/module.Fetcher]. It
// must not be used concurrently.
type Meter struct {
	Event              // its names are in each event; the methods set the other fields
	Report func(Event) // may be nil

	resumes int
	last    time.Time // of the last report of bytes
}

// interval is the minimum time between two reports of bytes.
const interval = 100 * time.Millisecond

// Send reports an event with the counted bytes.
func (m *Meter) Send(kind Kind, err error) {
	if m.Report != nil {
		e := m.Event
		e.Kind, e.Err = kind, err
		m.Report(e)
	}
}

func (m *Meter) bytes() {
	m.last = time.Now()
	m.Send(Bytes, nil)
}

// Start reports the start of a transfer; total is 0 if unknown.
func (m *Meter) Start(total int64) {
	m.Bytes, m.Total, m.resumes = 0, max(m.Total, total), 0
	m.bytes()
}

// Advance sets the number of bytes that have arrived. If not nil, resumes returns how often the transfer was resumed.
func (m *Meter) Advance(size int64, resumes func() int) {
	m.Bytes = size
	if resumes != nil {
		if n := resumes(); n > m.resumes {
			m.resumes = n
			m.Send(Resumed, nil)
		}
	}
	if time.Since(m.last) >= interval {
		m.bytes()
	}
}

// Write counts the bytes of p.
func (m *Meter) Write(p []byte) (int, error) {
	m.Advance(m.Bytes+int64(len(p)), nil)
	return len(p), nil
}

// Finish reports the end of a transfer.
func (m *Meter) Finish() {
	m.Total = m.Bytes
	m.bytes()
}

// Restart reports that the transfer starts again because of err.
func (m *Meter) Restart(err error) {
	m.Bytes = 0
	m.Send(Restarted, err)
}
