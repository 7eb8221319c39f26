package verify

import (
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/verify/checksum"
)

// Trust is what the trust in a package rests on. [Policy.Judge] decides whether that
// suffices.
//
// Checked is more than Unchecked, and Accepted and Signed are more than both. These two
// have no order between them: the hashes of a lock file may be of a package whose
// signature was verified before, so that the first installation is Signed and all others
// are Accepted. To insist on a signature set [Policy.RequireSignature], and to find out
// look at [Report.SignedBy].
type Trust int

// What trust can rest on. Of what was established it is the last in this list.
const (
	Unchecked Trust = iota // nothing to compare the package with
	Checked                // it is what its source states; an attacker at the source can state anything
	Accepted               // it has a hash that the caller accepts, from a lock file
	Signed                 // a key that may sign vouches for it
)

var trustNames = [...]string{"unchecked", "checked", "accepted", "signed"}

// String returns the level in lower case, for example "signed".
func (t Trust) String() string {
	if t < 0 || int(t) >= len(trustNames) {
		return fmt.Sprintf("Trust(%d)", int(t))
	}
	return trustNames[t]
}

// MarshalText implements [encoding.TextMarshaler] with the form of [Trust.String].
func (t Trust) MarshalText() ([]byte, error) {
	if t < 0 || int(t) >= len(trustNames) {
		return nil, fmt.Errorf("no level of trust: %d", int(t))
	}
	return []byte(t.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (t *Trust) UnmarshalText(b []byte) error {
	i := slices.Index(trustNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("no level of trust: %.40q", b)
	}
	*t = Trust(i)
	return nil
}

// A Report tells what [Policy.Judge] has established about a package that it
// accepts. It can be stored as JSON, for audits. Lists of hashes are sorted and have
// no duplicates.
type Report struct {
	// Trust is what the acceptance rests on. Where a policy has both Accept and
	// RequireSignature, Signed includes Accepted.
	Trust Trust `json:"trust"`

	// SignedBy is the signature, nil if none was verified.
	SignedBy *Signature `json:"signed_by,omitempty"`

	// Local are the hashes that were computed of the package itself.
	Local []checksum.Hash `json:"local,omitempty"`

	// Sums is the SHA256SUMS document that was looked at, signed or not. It is nil if
	// none was.
	Sums *Sums `json:"sums,omitempty"`

	// Claimed are the hashes that the source states and nothing confirms, nor refutes.
	Claimed []checksum.Hash `json:"claimed,omitempty"`

	// RecordStated is that of the policy.
	RecordStated bool `json:"record_stated,omitempty"`
}

// Signed returns the hashes that the signature covers: of all files of this version, also
// those for other platforms. They are sorted, without duplicates.
func (r *Report) Signed() []checksum.Hash {
	if r.SignedBy == nil {
		return nil
	}
	return r.Sums.listed()
}

// Recordable returns the hashes that a lock file may record for this version: those
// computed, those signed, and with [Policy.RecordStated] those only claimed. They are
// sorted, without duplicates. A nil Report has none.
func (r *Report) Recordable() []checksum.Hash {
	if r == nil {
		return nil
	}
	all := slices.Concat(r.Local, r.Signed())
	if r.RecordStated {
		all = append(all, r.Claimed...)
	}
	return checksum.Sorted(all)
}

// String tells people in a line what the acceptance rests on, for example "signed by key
// 0C0AF313E5FD9F80, which the source lists".
func (r *Report) String() string {
	switch {
	case r == nil:
		return "not verified"
	case r.SignedBy != nil && r.SignedBy.Pinned:
		return "signed by key " + r.SignedBy.KeyID + ", which is pinned"
	case r.SignedBy != nil:
		return "signed by key " + r.SignedBy.KeyID + ", which the source lists"
	case r.Trust == Accepted:
		return "accepted by its hash"
	case r.Trust == Checked:
		return "checked against what the source states"
	}
	return "unchecked"
}

// without returns the hashes of list that are in none of the others, sorted.
func without(list []checksum.Hash, others ...[]checksum.Hash) []checksum.Hash {
	other := slices.Concat(others...)
	return checksum.Sorted(slices.DeleteFunc(slices.Clone(list), func(h checksum.Hash) bool { return slices.Contains(other, h) }))
}
