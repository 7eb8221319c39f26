package verify

import "errors"

// Errors of [Policy] and [CheckSignature]. For others, see [Examination].
var (
	ErrUnchecked = errors.New("no hash to check the package against") // see [Policy.AllowUnchecked]

	ErrNotComputed = errors.New("a hash of the archive was not computed") // see [Policy.Judge]

	// See [Policy.AllowUnsigned]. Without any hash it is ErrUnchecked, unless a signature is required.
	ErrUnsigned = errors.New("package is not signed")

	ErrEmpty = errors.New("document is empty") // SHA256SUMS or its signature

	ErrUnknownKey = errors.New("signature by an unknown key") // no key that may sign made it

	ErrBadSignature = errors.New("bad signature") // damaged, or of another document

	ErrExpired = errors.New("expired signature") // or the key when it signed; see [Policy.AllowExpired], [Policy.RequireCurrent]

	ErrFuture = errors.New("signature from the future") // the clock of this machine may be wrong

	ErrRevoked = errors.New("key is revoked") // the signing key

	ErrWeak = errors.New("weak signature algorithm") // see [Policy.AllowWeak]

	ErrNotListed = errors.New("not listed in SHA256SUMS") // the archive

	ErrOtherRelease = errors.New("SHA256SUMS lists none of the known archives of this version") // see [Policy.SameRelease]

	ErrFilename = errors.New("unexpected file name") // invalid, or see [Policy.AllowAnyName]

	ErrNotAccepted = errors.New("no accepted hash matches") // by [Policy.Accept]; also wraps a [*checksum.MismatchError]

	ErrProvenance = errors.New("no accepted provenance") // see [Policy.Provenance]

	ErrNotStated = errors.New("the stated hashes do not suffice") // see [CheckedSums.JudgeStated]

	ErrBadKey = errors.New("unreadable key") // see [Key.Info]

	// See [Policy.Validate], [ParseFingerprints] and [Provenance]. Some calls refuse a field that is set.
	ErrPolicy = errors.New("invalid policy")
)
