package module

import (
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
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
