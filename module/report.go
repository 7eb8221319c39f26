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

	// Location is the location of the package. Via are the locations that pointed to it, in
	// order. Both are safe to print.
	Location string   `json:"location"`
	Via      []string `json:"via,omitempty"`

	// Dir is the directory with the whole package, as the caller named it.
	Dir string `json:"dir"`

	// Subdir is the directory of the module in Dir, with slashes; empty for Dir itself. It
	// exists, and "*" of the location is replaced by the matching name.
	Subdir string `json:"subdir,omitempty"`

	// H1 is the hash of the names and contents of all files, see [checksum.H1Dir]. It is the
	// same for all archive formats and operating systems.
	H1 checksum.Hash `json:"h1"`

	// Commit is the commit of a git repository; empty for other packages.
	Commit string `json:"commit,omitempty"`

	// Size is the size of the archive in bytes; 0 if the package was not an archive.
	Size int64 `json:"size,omitempty"`

	// Reused reports that Dir already had the right content and was not changed, see
	// [Options.Replace]. If the package was not fetched, Size, Commit and Skipped are zero.
	Reused bool `json:"reused,omitempty"`

	// Skipped lists the omitted names, at most 1,000: symbolic links if Options.SkipLinks is
	// set, and submodules of a git repository.
	Skipped []string `json:"skipped,omitempty"`
}

// String returns the module or location, its directory and its hash, for people.
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
	// EventLocated means that Location is known. It is reported for each location.
	EventLocated EventKind = "located"
	// EventBytes means that Bytes of Total have arrived. It is reported at the start and the
	// end of a transfer, and about ten times a second.
	EventBytes EventKind = "bytes"
	// EventResumed means that a broken transfer continues.
	EventResumed EventKind = "resumed"
	// EventRestarted means that the file changed on the server, and that its transfer starts
	// again. Err is the reason.
	EventRestarted EventKind = "restarted"
	// EventStored means that the package is verified and in Dir.
	EventStored EventKind = "stored"
	// EventReused means that Dir already had the package.
	EventReused EventKind = "reused"
)

// Event is one step of a download. For one Dir, Bytes grows until EventRestarted or
// EventLocated.
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
