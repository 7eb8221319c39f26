package mirrordir

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
)

// Report is the result of [Mirror.Check] or [Mirror.Reindex].
type Report struct {
	Providers int   `json:"providers"` // providers with a directory
	Versions  int   `json:"versions"`  // versions with archives
	Archives  int   `json:"archives"`  // archives, without unpacked packages
	Bytes     int64 `json:"bytes"`     // total size of the archives

	// Problems are findings that affect clients of the mirror, sorted by name.
	Problems []Finding `json:"problems"`

	// Notes are findings that do not affect clients, sorted by name.
	Notes []Finding `json:"notes"`
}

// OK reports whether there are no problems.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// Finding is a problem or note about a file.
type Finding struct {
	Kind     FindingKind    `json:"kind"`              // such as Missing
	Name     string         `json:"name"`              // name of the file
	Provider addrs.Provider `json:"provider,omitzero"` // zero if unknown
	Version  addrs.Version  `json:"version,omitzero"`  // zero if not about one version
	Platform addrs.Platform `json:"platform,omitzero"` // zero if not about one platform
	Detail   string         `json:"detail"`            // one line
}

// String returns kind, name and detail.
func (f Finding) String() string { return fmt.Sprintf("%s: %q: %s", f.Kind, f.Name, f.Detail) }

// FindingKind is the kind of a [Finding].
type FindingKind string

// The kinds of problems.
const (
	// Missing: a document lists a missing file, or the index a missing or empty document.
	Missing FindingKind = "missing"
	// Changed: an archive differs from its record or from a document.
	Changed FindingKind = "changed"
	// Damaged: a document, a record or an archive is invalid.
	Damaged FindingKind = "damaged"
	// Refused: the policy does not accept the recorded evidence.
	Refused FindingKind = "refused"
)

// The kinds of notes.
const (
	// Unlisted: network clients do not find the archive or the version.
	Unlisted FindingKind = "unlisted"
	// Unrecorded: an archive has no record.
	Unrecorded FindingKind = "unrecorded"
	// External: a document lists a URL outside of the mirror.
	External FindingKind = "external"
	// Leftover: a record has no archive.
	Leftover FindingKind = "leftover"
	// Ignored: a name is invalid or not canonical.
	Ignored FindingKind = "ignored"
	// Unreachable: the CLIs cannot install from a network mirror if the host has a port.
	Unreachable FindingKind = "unreachable"
	// Corrected: a document stated wrong hashes and was corrected.
	Corrected FindingKind = "corrected"
)

// isProblem reports whether k is a kind of problems.
func (k FindingKind) isProblem() bool {
	return k == Missing || k == Changed || k == Damaged || k == Refused
}

// reporter collects findings from several goroutines.
type reporter struct {
	mu     sync.Mutex
	report Report
}

// count adds to the totals.
func (r *reporter) count(providers, versions, archives int, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Providers += providers
	r.report.Versions += versions
	r.report.Archives += archives
	r.report.Bytes += bytes
}

func (r *reporter) note(list ...Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range list {
		if f.Kind.isProblem() {
			r.report.Problems = append(r.report.Problems, f)
		} else {
			r.report.Notes = append(r.report.Notes, f)
		}
	}
}

// sorted returns the report with sorted findings.
func (r *reporter) sorted() *Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, list := range [][]Finding{r.report.Problems, r.report.Notes} {
		slices.SortFunc(list, func(a, b Finding) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), a.Platform.Compare(b.Platform), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Detail, b.Detail))
		})
	}
	return &r.report
}

// oneLine returns the text of an error in one line.
func oneLine(err error) string {
	text := []rune(err.Error())
	for i, c := range text {
		if c < ' ' || c == 0x7f {
			text[i] = ' '
		}
	}
	return string(text)
}
