package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/verify/checksum"
)

// A Policy decides which packages are accepted. The zero Policy requires that SHA256SUMS lists the archive and is signed
// by a listed key. A Policy is safe for concurrent use.
//
// Every policy refuses a mismatch with the stated size and hashes. Where SHA256SUMS and signature are checked, it
// also refuses bad signatures, unlisted or revoked keys (see [CheckSignature]) and a wrong digest.
type Policy struct {
	// Accept, if not zero, holds the locked hashes of all platforms. The package must have one of them. SHA256SUMS and
	// signature are then checked only with RequireSignature, despite Keys and Fingerprints.
	Accept checksum.Set

	// SameRelease, if not zero, holds known hashes of the version. If SHA256SUMS is checked, signed or not, and lists
	// none of their zh, the error is [ErrOtherRelease]. A Set without hashes that is not zero refuses every package.
	SameRelease checksum.Set

	RequireSignature bool // a valid one, even if a hash is accepted

	// Keys, if not zero, replaces the keys that the source lists.
	Keys KeySet

	// Fingerprints, if not zero, names the keys that may sign. Without Keys, revocation and expiry are read from the
	// listed copy of the key, which may be old.
	Fingerprints Fingerprints

	// Provenance, if not nil, must name who built the archive, even if a hash is accepted. It refuses directories.
	Provenance Provenance

	// AllowUnsigned accepts stated hashes if SHA256SUMS, its signature or the keys are missing, as at a mirror, which is
	// then trusted. A document without a signature must still list the archive.
	AllowUnsigned bool

	// AllowUnchecked includes AllowUnsigned, and accepts a package without a hash to compare, unless its source states
	// hashes of unknown schemes or of other platforms only.
	AllowUnchecked bool

	AllowExpired bool // expired signatures, and keys that had expired when they signed

	// RequireCurrent refuses keys that have expired by now: their holder can backdate signatures.
	RequireCurrent bool

	AllowWeak bool // short RSA keys, DSA keys, SHA-1 and SHA-224, but never MD5 or RIPEMD-160

	AllowAnyName bool // file names that do not match [Evidence.Requested]

	// DropStated leaves [Report.Stated] empty, as Terraform does, and OpenTofu if OPENTOFU_ENFORCE_GPG_VALIDATION is
	// "true". It is also empty with Accept, SameRelease, Keys or Fingerprints.
	DropStated bool

	Limits checksum.Limits  // of [Policy.Check] and of downloads
	Now    func() time.Time // clock for expiry, safe for concurrent use; if nil, [time.Now]
}

// KeySet is a rule: one of these keys must sign. A key in it that cannot be read is [ErrBadKey], even if another one
// signed.
type KeySet struct {
	keys []Key
	rule bool
}

// NewKeySet returns a KeySet of these keys. Without any, no key may sign: [ErrUnsigned].
func NewKeySet(keys ...Key) KeySet { return KeySet{slices.Clone(keys), true} }

// IsZero reports whether s disables the check.
func (s KeySet) IsZero() bool { return !s.rule }

// Keys returns a copy of the keys, in order.
func (s KeySet) Keys() []Key { return slices.Clone(s.keys) }

// Fingerprints is a rule: a key with one of these fingerprints must sign.
type Fingerprints struct {
	canonical []string
	rule      bool
}

// ParseFingerprints parses fingerprints of primary keys or signing subkeys: 40 hex digits each, or 64 for version 6,
// also with spaces, lower case and 0x. Other text, such as a key ID, is [ErrPolicy]. Without any, no key may sign:
// [ErrUnsigned].
func ParseFingerprints(texts ...string) (Fingerprints, error) {
	f := Fingerprints{rule: true}
	for _, text := range texts {
		pin, err := canonicalFingerprint(text)
		if err != nil {
			return Fingerprints{}, err
		}
		f.canonical = append(f.canonical, pin)
	}
	return f, nil
}

// IsZero reports whether f disables the check.
func (f Fingerprints) IsZero() bool { return !f.rule }

// NeedsEvidence reports whether p or its Provenance may need Sums and Signature.
func (p Policy) NeedsEvidence() bool { return p.checksSums() || p.Provenance != nil }

// checksSums reports whether p checks Sums and Signature.
func (p Policy) checksSums() bool { return p.Accept.IsZero() || p.RequireSignature }

// Demands reports whether p has Accept, SameRelease, RequireSignature, Keys, Fingerprints or Provenance.
func (p Policy) Demands() bool {
	return !p.Accept.IsZero() || !p.SameRelease.IsZero() || p.RequireSignature || p.pinned() || p.Provenance != nil
}

// pinned reports whether p names the keys that may sign.
func (p Policy) pinned() bool { return p.Keys.rule || p.Fingerprints.rule }

// Validate returns [ErrPolicy] with the names of two fields that contradict each other: RequireSignature, Keys or
// Fingerprints and AllowUnsigned or AllowUnchecked, or RequireCurrent and AllowExpired. All methods that judge return it,
// too.
func (p Policy) Validate() error {
	for _, pair := range []struct {
		demand, permit string
		both           bool
	}{
		{"RequireSignature", "AllowUnsigned", p.RequireSignature && p.AllowUnsigned},
		{"RequireSignature", "AllowUnchecked", p.RequireSignature && p.AllowUnchecked},
		{"Keys", "AllowUnsigned", p.Keys.rule && p.AllowUnsigned},
		{"Keys", "AllowUnchecked", p.Keys.rule && p.AllowUnchecked},
		{"Fingerprints", "AllowUnsigned", p.Fingerprints.rule && p.AllowUnsigned},
		{"Fingerprints", "AllowUnchecked", p.Fingerprints.rule && p.AllowUnchecked},
		{"RequireCurrent", "AllowExpired", p.RequireCurrent && p.AllowExpired},
	} {
		if pair.both {
			return fmt.Errorf("%w: Policy.%s contradicts Policy.%s; set only one of them", ErrPolicy, pair.demand, pair.permit)
		}
	}
	return nil
}

// check returns an error if p refuses every package, whatever its evidence is.
func (p Policy) check() error {
	if !p.SameRelease.IsZero() && len(p.SameRelease.Hashes()) == 0 {
		return fmt.Errorf("%w: Policy.SameRelease is empty", ErrOtherRelease)
	}
	return p.Validate()
}

func (p Policy) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// Evidence is the evidence for a package, and what its source states.
type Evidence struct {
	Filename string `json:"filename,omitempty"` // of the archive in SHA256SUMS; needed if Sums is checked

	Size int64 `json:"size,omitempty"` // stated, in bytes; if zero or less, none

	Hashes []checksum.Hash `json:"hashes,omitempty"` // stated hashes; of each scheme, one must match

	OthersStated bool `json:"others_stated,omitempty"` // hashes are stated for other platforms, see [Policy.AllowUnchecked]

	Packages [][]checksum.Hash `json:"packages,omitempty"` // what Registry states for each platform
	Registry string            `json:"registry,omitempty"` // host of the provider, if the package is from there; see [Report.Stated]

	// Sums is the SHA256SUMS document, Signature its detached signature. If nil, the source names none; an empty slice
	// is [ErrEmpty].
	Sums         []byte   `json:"sums,omitzero"`
	Signature    []byte   `json:"signature,omitzero"`
	Attestations []string `json:"attestations,omitempty"` // Sigstore bundles in JSON, for [Policy.Provenance]

	AttestationError error `json:"-"` // why there are no Attestations

	Keys []Key `json:"keys,omitempty"` // that the source lists

	MustBeSigned bool `json:"must_be_signed,omitempty"` // overrides AllowUnsigned and AllowUnchecked, unless Accept decides

	// Requested is the requested package as "TYPE_VERSION_OS_ARCH". Filename must be Requested and ".zip", optionally
	// after "terraform-provider-" or "opentofu-provider-", with TYPE in any case, and "v" before VERSION or not. If
	// empty, the source can send another package of the publisher.
	Requested string `json:"requested,omitempty"`
}

// archivePrefixes may stand before TYPE.
var archivePrefixes = []string{"terraform-provider-", "opentofu-provider-", ""}

// checkFilename checks that Filename is a valid name for the requested package. TYPE may be in
// any case, and VERSION may start with "v". Only known prefixes may stand before TYPE, because
// a type may contain hyphens.
func (ev Evidence) checkFilename(anyName bool) error {
	name := ev.Filename
	switch {
	case name == "":
		return fmt.Errorf("%w: the source states no file name", ErrFilename)
	case len(name) > 255 || !utf8.ValidString(name) || strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%w: %.100q is not a plain file name", ErrFilename, name)
	case anyName || ev.Requested == "":
		return nil
	}
	typ, rest, _ := strings.Cut(ev.Requested, "_")
	gotType, gotRest, _ := strings.Cut(name, "_")
	if strings.TrimPrefix(gotRest, "v") == rest+".zip" &&
		slices.ContainsFunc(archivePrefixes, func(prefix string) bool { return strings.EqualFold(gotType, prefix+typ) }) {
		return nil
	}
	return fmt.Errorf("%w: %q, want %s%s.zip; set Policy.AllowAnyName to accept any name", ErrFilename, name, archivePrefixes[0], ev.Requested)
}
