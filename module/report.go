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

	// Location is where the package came from, by way of Via. Both are safe to print.
	Location string   `json:"location"`
	Via      []string `json:"via,omitempty"`

	Dir string `json:"dir"` // as in [Request]

	Subdir string `json:"subdir,omitempty"` // of the module in Dir, with slashes, without "*"; empty for Dir

	H1 checksum.Hash `json:"h1"` // of Dir, see [checksum.L1Dir]

	Commit string `json:"commit,omitempty"` // empty unless from [Git]

	Size int64 `json:"size,omitempty"` // bytes; 0 unless an archive

	// Reused is true if Dir already had the content ([Options.Replace]). If nothing was fetched, Commit, Size and
	// Skipped are empty.
	Reused bool `json:"reused,omitempty"`

	Cached bool `json:"cached,omitempty"` // copied from [Options.Cache]; if found by Request.H1, Commit is empty

	Believed time.Time `json:"believed,omitzero"` // when H1 was computed, if the files were not read; see [Options.Stamps]

	Skipped []string `json:"skipped,omitempty"` // up to 1,000 omitted symbolic links and submodules
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
