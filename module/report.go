package module

import (
	"path/filepath"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Report is the result of a download.
type Report struct {
	// Module and Version are as in [Location].
	Module  addrs.Module  `json:"module,omitzero"`
	Version addrs.Version `json:"version,omitzero"`

	// Location is where the package came from, by way of the locations in Via. Both are safe to print.
	Location string   `json:"location"`
	Via      []string `json:"via,omitempty"`

	Dir string `json:"dir"` // as the caller named it

	// Subdir is the directory of the module in Dir, with slashes, without "*"; empty for Dir.
	Subdir string `json:"subdir,omitempty"`

	H1 checksum.Hash `json:"h1"` // of Dir, see [checksum.H1Dir]; an l1 if it has links, see [checksum.L1Dir]

	Commit string `json:"commit,omitempty"` // empty unless from [Git]

	Size int64 `json:"size,omitempty"` // bytes; 0 unless an archive

	// Reused is true if Dir already had the content, see [Options.Replace]. If nothing was fetched,
	// Commit, Size and Skipped are empty.
	Reused bool `json:"reused,omitempty"`

	// Believed is when H1 was computed, if the files were not read; see [Options.Stamps].
	Believed time.Time `json:"believed,omitzero"`

	// Skipped are up to 1,000 omitted symbolic links and submodules.
	Skipped []string `json:"skipped,omitempty"`
}

// String returns text for people.
func (r *Report) String() string {
	what := r.Location
	if !r.Module.IsZero() {
		what = r.Module.String() + " " + r.Version.String()
	}
	return what + " in " + r.ModuleDir() + ", " + r.H1.String()
}

// ModuleDir returns Dir joined with Subdir.
func (r *Report) ModuleDir() string { return filepath.Join(r.Dir, filepath.FromSlash(r.Subdir)) }

// EventKind is the kind of an [Event].
type EventKind string

const (
	EventHeld      EventKind = "held"      // newer versions are held back, see Event.Held
	EventLocated   EventKind = "located"   // Location is known, or has changed
	EventBytes     EventKind = "bytes"     // Bytes of Total of an archive or page have arrived; about ten times a second
	EventResumed   EventKind = "resumed"   // the transfer was resumed after a break
	EventRestarted EventKind = "restarted" // the transfer starts again, because of Err
	EventStored    EventKind = "stored"    // the package is verified and in Dir
	EventReused    EventKind = "reused"    // Dir had the package before
)

// Event is one step of a download. Bytes is 0 again with [EventLocated] and [EventRestarted]. The last event of a
// successful download is [EventStored] or [EventReused].
type Event struct {
	Kind     EventKind     // what happened
	Module   addrs.Module  // as in Report
	Version  addrs.Version // as in Report
	Dir      string        // as in Report
	Location string        // as in Report
	Bytes    int64         // received
	Total    int64         // expected; 0 if unknown
	Err      error         // of EventRestarted
	Held     []Held        // of EventHeld: versions newer than Version that would fit, newest first
}
