package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Trust is why a package was accepted: of several reasons, the last one. Accepted and Signed are not ordered by
// strength.
type Trust int

const (
	Unchecked Trust = iota // no hash was compared
	Checked                // the hashes that the source states match
	Accepted               // a hash in Policy.Accept matches
	Signed                 // a key that may sign signed the hash
)

var trustNames = [...]string{"unchecked", "checked", "accepted", "signed"}

// String returns, for example, "signed".
func (t Trust) String() string {
	if t < 0 || int(t) >= len(trustNames) {
		return fmt.Sprintf("Trust(%d)", int(t))
	}
	return trustNames[t]
}

func (t Trust) MarshalText() ([]byte, error) {
	if t < 0 || int(t) >= len(trustNames) {
		return nil, fmt.Errorf("invalid trust %d", int(t))
	}
	return []byte(t.String()), nil
}

func (t *Trust) UnmarshalText(b []byte) error {
	i := slices.Index(trustNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("invalid trust %.40q", b)
	}
	*t = Trust(i)
	return nil
}

// A Report says why a package was accepted. Lists of hashes are sorted, without duplicates.
type Report struct {
	Trust    Trust           `json:"trust"`               // the reason
	SignedBy *Signature      `json:"signed_by,omitempty"` // nil if no signature was verified
	BuiltBy  *Build          `json:"built_by,omitempty"`  // nil without Policy.Provenance
	Local    []checksum.Hash `json:"local,omitempty"`     // computed from the package
	Sums     *Sums           `json:"sums,omitempty"`      // checked document, signed or not, or nil

	// Stated are the h1 that registry.opentofu.org states beside a signed zh: of other platforms, after
	// [CheckedSums.JudgeStated] also of this one. See [Policy.DropStated].
	Stated []checksum.Hash `json:"stated,omitempty"`

	// Believed is when an earlier call of [github.com/tofureg/tofureg/provider/install] computed the h1 in Local,
	// otherwise zero.
	Believed time.Time `json:"believed,omitzero"`
}

// Recordable returns what a lock file may record for a new version: Local, the zh in Sums if SignedBy is not nil, and
// Stated. A nil Report has none. For a locked version, record only Local: an attacker who controls the registry can sign
// and state any hashes.
func (r *Report) Recordable() []checksum.Hash {
	if r == nil {
		return nil
	}
	var signed []checksum.Hash
	if r.SignedBy != nil {
		signed = r.Sums.listed()
	}
	return hashlist.Sorted(r.Local, signed, r.Stated)
}

// String returns, for example, "signed by key 0C0AF313E5FD9F80, which the source lists", and where it was built. It does
// not name the package.
func (r *Report) String() string {
	switch {
	case r == nil:
		return "not verified"
	case r.BuiltBy != nil:
		rest := *r
		rest.BuiltBy = nil
		return strings.TrimSuffix(rest.String()+", built from "+r.BuiltBy.Repository+" at "+r.BuiltBy.Ref, " at ")
	case r.SignedBy != nil:
		return "signed by " + r.SignedBy.String()
	case r.Trust == Accepted:
		return "accepted by its hash"
	case r.Trust == Checked:
		return "checked against what the source states"
	}
	return "unchecked"
}
