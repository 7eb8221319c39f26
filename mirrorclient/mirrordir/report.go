package mirrordir

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/tofureg/tofureg/addrs"
)

// Report is what [Mirror.Check] or [Mirror.Reindex] has found. It is plain data and can be
// stored as JSON.
type Report struct {
	// What there is. Unpacked packages do not count.
	Providers int   `json:"providers"` // with a directory of their own
	Versions  int   `json:"versions"`  // with archives
	Archives  int   `json:"archives"`  // whatever their state
	Bytes     int64 `json:"bytes"`     // of all archives

	// Problems are what a client of the mirror can run into, sorted by name.
	Problems []Finding `json:"problems"`

	// Notes are what no client runs into, such as archives that no document lists,
	// sorted by name.
	Notes []Finding `json:"notes"`
}

// OK reports whether there are no problems.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// Finding is something about one file of a mirror.
type Finding struct {
	Kind     FindingKind    `json:"kind"`              // what is the matter
	Name     string         `json:"name"`              // of the file in the Storage
	Provider addrs.Provider `json:"provider,omitzero"` // that it belongs to; zero: none
	Version  addrs.Version  `json:"version,omitzero"`  // that it is about; zero: none, or all
	Platform addrs.Platform `json:"platform,omitzero"` // likewise
	Detail   string         `json:"detail"`            // for people, one line
}

// String returns kind, name and detail in one line.
func (f Finding) String() string { return fmt.Sprintf("%s: %q: %s", f.Kind, f.Name, f.Detail) }

// FindingKind says what is the matter.
type FindingKind string

// The kinds of problems.
const (
	// Missing: a document refers to a file that is not there, or the index to a document
	// without archives.
	Missing FindingKind = "missing"
	// Changed: an archive is not the one that was recorded or is listed.
	Changed FindingKind = "changed"
	// Damaged: a document, a record or an archive cannot be read as one.
	Damaged FindingKind = "damaged"
	// Refused: the evidence about an archive is wrong, or not what the policy wants.
	Refused FindingKind = "refused"
)

// The kinds of notes.
const (
	// Unlisted: a network client does not find the archive or the version.
	Unlisted FindingKind = "unlisted"
	// Unrecorded: there is no record of the archive, so its size was never known
	// and there is no evidence.
	Unrecorded FindingKind = "unrecorded"
	// Elsewhere: a document refers to a file outside of the mirror.
	Elsewhere FindingKind = "elsewhere"
	// Leftover: a file is of no use to anybody.
	Leftover FindingKind = "leftover"
	// Ignored: the name of a file or a directory makes no sense, or is not the
	// canonical one, by which network clients ask.
	Ignored FindingKind = "ignored"
	// Unreachable: network clients of the CLIs cannot ask for the provider.
	Unreachable FindingKind = "unreachable"
	// Restated: the document of a version stated something else about the archive;
	// it has been corrected.
	Restated FindingKind = "restated"
)

// isProblem tells the two groups apart.
func (k FindingKind) isProblem() bool {
	return k == Missing || k == Changed || k == Damaged || k == Refused
}

// reporter collects findings from several goroutines.
type reporter struct {
	mu     sync.Mutex
	report Report
}

// count adds to the numbers.
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

// sorted returns the report.
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

// oneLine keeps the text of an error to one line.
func oneLine(err error) string {
	text := []rune(err.Error())
	for i, c := range text {
		if c < ' ' || c == 0x7f {
			text[i] = ' '
		}
	}
	return string(text)
}
