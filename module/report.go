package module

import (
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Report is the result of a download. Its JSON form can be stored.
type Report struct {
	// Module and Version are zero if the location did not come from a registry.
	Module  addrs.Module  `json:"module,omitzero"`
	Version addrs.Version `json:"version,omitzero"`

	// Location is where the package came from, Via the locations that pointed to it, in
	// order.
	Location string   `json:"location"`
	Via      []string `json:"via,omitempty"`

	// Dir is the directory of the package, as the caller named it.
	Dir string `json:"dir"`

	// Subdir is the existing directory of the module in Dir, with slashes and without "*";
	// empty for Dir itself.
	Subdir string `json:"subdir,omitempty"`

	// H1 is the hash of all names and contents, see [checksum.H1Dir]. It does not depend on
	// the archive format.
	H1 checksum.Hash `json:"h1"`

	// Commit is the commit of a git repository; empty for other packages.
	Commit string `json:"commit,omitempty"`

	// Size is the size of the archive in bytes; 0 for other packages.
	Size int64 `json:"size,omitempty"`

	// Reused reports that Dir already had the right content, see [Options.Replace]. If the
	// package was not fetched, Size, Commit and Skipped are zero.
	Reused bool `json:"reused,omitempty"`

	// Skipped are up to 1,000 omitted names: symbolic links, see [Options.SkipLinks], and
	// submodules of git repositories.
	Skipped []string `json:"skipped,omitempty"`
}

// String returns the report for people.
func (r *Report) String() string {
	what := r.Location
	if !r.Module.IsZero() {
		what = r.Module.String() + " " + r.Version.String()
	}
	return what + " in " + r.ModuleDir() + ", " + r.H1.String()
}

// ModuleDir returns the path of the module: Subdir in Dir.
func (r *Report) ModuleDir() string { return filepath.Join(r.Dir, filepath.FromSlash(r.Subdir)) }

// EventKind is the kind of an [Event].
type EventKind string

// The kinds of events.
const (
	// EventLocated means that Location is known, or has changed.
	EventLocated EventKind = "located"
	// EventBytes means that Bytes of Total have arrived. It is reported about ten times a
	// second, and at both ends of a transfer.
	EventBytes EventKind = "bytes"
	// EventResumed means that a broken transfer continues.
	EventResumed EventKind = "resumed"
	// EventRestarted means that a transfer starts again because of Err.
	EventRestarted EventKind = "restarted"
	// EventStored means that the package is verified and in Dir.
	EventStored EventKind = "stored"
	// EventReused means that Dir already had the package.
	EventReused EventKind = "reused"
)

// Event is one step of a download.
type Event struct {
	Kind     EventKind     // the step
	Module   addrs.Module  // as in Report
	Version  addrs.Version // as in Report
	Dir      string        // as in Report
	Location string        // safe to print
	Bytes    int64         // number of bytes that have arrived
	Total    int64         // number of expected bytes; 0 if unknown
	Err      error         // the reason; usually nil
}

// newMeter returns a meter that reports events of the job.
func (j *job) newMeter(m addrs.Module, v addrs.Version) *flight.Meter {
	meter := &flight.Meter{}
	meter.Report = func(kind string, err error) {
		if j.o.Progress != nil {
			j.o.Progress(Event{EventKind(kind), m, v, j.dir, j.shown, meter.Bytes, meter.Total, err})
		}
	}
	return meter
}
