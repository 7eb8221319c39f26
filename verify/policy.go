package verify

import (
	"time"

	"github.com/tofureg/tofureg/verify/checksum"
)

// A Policy decides which packages are accepted. The zero Policy is strict: the
// archive must be the one that a SHA256SUMS document lists, and a key that the
// source lists must have signed that document. Each Allow field gives up one of
// these checks by name.
//
// Whatever the policy, what is there must fit: if the source states hashes that were
// computed too, one of each scheme must match, a stated size must be right, and so
// must be the line of a SHA256SUMS document that is looked at. A mismatch is never
// accepted, nor is a signature that is wrong, by a key that is not among those
// listed, or by a revoked key.
//
// A key that its owner has revoked as superseded or retired still verifies signatures
// dated before the revocation, as RFC 9580, section 5.2.3.31, means it and old releases
// need it. The date is the word of the signer, so a holder of such a key can backdate a new
// signature. A lock file (Accept) or pinned Fingerprints of the current keys prevent that;
// [Signature.KeyRetired] reports it.
//
// A Policy is a plain value and safe for concurrent use while nobody changes it.
type Policy struct {
	// Accept holds the hashes of a lock file. If it is not nil, the package must
	// have one of them, whatever the source says of it. That suffices: SHA256SUMS
	// and signature are then not looked at, unless RequireSignature is set. An
	// empty Accept that is not nil accepts nothing.
	Accept []checksum.Hash

	// SameRelease holds known hashes of the version's packages for other platforms,
	// for example all those of a lock file. If it is not empty, a SHA256SUMS document
	// must list one of them, which only a hash of scheme zh can be. Otherwise the
	// document is refused with [ErrOtherRelease], whoever signed it: a registry that
	// was taken over can replace a version, its archives and its keys. A document that
	// lists a known archive beside forged ones of other platforms passes; only Keys or
	// Fingerprints prevent that.
	SameRelease []checksum.Hash

	// RequireSignature demands a valid signature, also beside an accepted hash.
	// AllowUnsigned and AllowUnchecked have no effect then.
	RequireSignature bool

	// Keys are pinned keys: if not nil, only they may sign, and those that the
	// source lists are ignored.
	Keys []Key

	// Fingerprints are pinned keys too: if not nil, only keys with one of these
	// fingerprints may sign, given as 40 hex digits (64 for keys of version 6), of
	// the primary key or of the subkey that signs. Spaces, lower case and a leading
	// 0x are tolerated. Anything shorter is [ErrPolicy]: key ids can be forged.
	//
	// A signature is demanded wherever Keys or Fingerprints are not nil, except
	// beside an accepted hash; AllowUnsigned and AllowUnchecked have no effect then.
	//
	// A fingerprint says which key it is. Whether that key is revoked or has expired
	// is read from the copies that the source lists, or from Keys, if not nil: a
	// dishonest source lists an old copy.
	Fingerprints []string

	// AllowUnsigned accepts a package by the hashes that its source merely states,
	// where there is no signature: no SHA256SUMS, no signature of it, or no keys. It
	// is what the user of a mirror needs that states hashes. Whoever controls the
	// source or the way to it controls the package.
	AllowUnsigned bool

	// AllowUnchecked accepts a package also if nothing is known of it, and includes
	// AllowUnsigned. It is what the user of a mirror needs that states no hashes. If the
	// mirror states hashes, but none of a known scheme for this platform, the package
	// remains [ErrUnchecked].
	AllowUnchecked bool

	// AllowExpired accepts signatures that have expired, and those by keys that had
	// expired when they signed.
	AllowExpired bool

	// AllowWeak accepts signatures by short RSA keys or DSA keys, or with SHA-1 or
	// SHA-224. Those with MD5 or RIPEMD-160 it does not.
	AllowWeak bool

	// AllowAnyName accepts archives under names that do not tell provider, version
	// and platform; see [Evidence.Want].
	AllowAnyName bool

	// RecordStated has [Report.Recordable] include hashes that the source only
	// states. With it a lock file can be written for platforms whose packages were
	// not downloaded.
	RecordStated bool

	// Limits bound what [Policy.Check] reads.
	Limits checksum.Limits

	// Now is the clock by which signatures expire; nil: [time.Now].
	Now func() time.Time
}

// NeedsEvidence reports whether Judge looks at Sums and Signature. If not, they need
// not be fetched.
func (p Policy) NeedsEvidence() bool { return p.Accept == nil || p.RequireSignature }

// pinned reports whether p says whose signatures count.
func (p Policy) pinned() bool { return p.Keys != nil || p.Fingerprints != nil }

// pins returns the canonical fingerprints, nil for none.
func (p Policy) pins() ([]string, error) {
	if p.Fingerprints == nil {
		return nil, nil
	}
	pins := make([]string, 0, len(p.Fingerprints))
	for _, f := range p.Fingerprints {
		pin, err := canonicalFingerprint(f)
		if err != nil {
			return nil, err
		}
		pins = append(pins, pin)
	}
	return pins, nil
}

func (p Policy) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}
