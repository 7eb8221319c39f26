package module

import (
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Report is the result of a download. It is plain data; its JSON form can be stored.
type Report struct {
	// Module and Version are the ones that were asked for; zero if the location did not
	// come from a registry.
	Module  addrs.Module  `json:"module,omitzero"`
	Version addrs.Version `json:"version,omitzero"`

	// Location is the location that the package came from. Via are the locations that
	// pointed to it, the first one first. Both are safe to print.
	Location string   `json:"location"`
	Via      []string `json:"via,omitempty"`

	// Dir is the directory with the whole package, as the caller named it.
	Dir string `json:"dir"`

	// Subdir is the directory of the module in Dir, with slashes; empty for Dir itself.
	// It exists. Each "*" of the location is replaced by the name that it matches.
	Subdir string `json:"subdir,omitempty"`

	// H1 is the hash of the names and contents of all files in Dir, in the form of the
	// hashes in lock files, see [checksum.H1Dir]. It is the same for all archive
	// formats and operating systems.
	H1 checksum.Hash `json:"h1"`

	// Commit is the commit that the git program fetched; empty for other packages.
	Commit string `json:"commit,omitempty"`

	// Size is the size of the archive in bytes; 0 if the package was not an archive.
	Size int64 `json:"size,omitempty"`

	// Reused reports that Dir already had the right content and was left alone, see
	// [Options.Replace]. If the package was not fetched, Size, Commit and Skipped are
	// zero.
	Reused bool `json:"reused,omitempty"`

	// Skipped lists what was left out of the package, at most 1,000 names: symbolic
	// links if Options.SkipLinks is set, and the submodules of a git repository.
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
	meter := &flight.Meter{}
	meter.Report = func(kind string, err error) {
		if j.o.Progress != nil {
			j.o.Progress(Event{EventKind(kind), m, v, j.dir, j.at, meter.Bytes, meter.Total, err})
		}
	}
	return meter
}
