package verify

import "errors"

// Errors of [Policy] and [CheckSignature]. For others, see [Examination].
var (
	ErrUnchecked = errors.New("no hash to check the package against") // no stated hash could be compared, see [Policy.AllowUnchecked]

	ErrNotComputed = errors.New("a hash of the archive was not computed") // of the scheme of a stated one, see [Policy.Judge]

	// Signature, SHA256SUMS document or keys are missing; see [Policy.AllowUnsigned]. Without any hash it is
	// ErrUnchecked, unless a signature is required.
	ErrUnsigned = errors.New("package is not signed")

	ErrEmpty = errors.New("document is empty") // SHA256SUMS or its signature has no bytes

	ErrUnknownKey = errors.New("signature by an unknown key") // no key that may sign made the signature

	ErrBadSignature = errors.New("bad signature") // damaged, or of another document

	ErrExpired = errors.New("expired signature") // or the key when it signed; see [Policy.AllowExpired], [Policy.RequireCurrent]

	ErrFuture = errors.New("signature from the future") // the clock of this machine may be wrong

	ErrRevoked = errors.New("key is revoked") // the signing key

	ErrWeak = errors.New("weak signature algorithm") // see [Policy.AllowWeak]

	ErrNotListed = errors.New("not listed in SHA256SUMS") // SHA256SUMS has no line for the archive

	ErrOtherRelease = errors.New("SHA256SUMS lists none of the known archives of this version") // see [Policy.SameRelease]

	ErrFilename = errors.New("unexpected file name") // invalid, or not as [Evidence.Requested], see [Policy.AllowAnyName]

	ErrNotAccepted = errors.New("no accepted hash matches") // by [Policy.Accept]; also wraps a [*checksum.MismatchError]

	ErrProvenance = errors.New("no accepted provenance") // see [Policy.Provenance]

	ErrNotStated = errors.New("the stated hashes do not suffice") // the archive is needed, see [CheckedSums.JudgeStated]

	ErrBadKey = errors.New("unreadable key") // a public key cannot be read

	// Fields contradict each other (see [Policy.Validate]), a fingerprint is invalid, [Policy.Provenance] is unusable,
	// or a call does not permit a field that is set.
	ErrPolicy = errors.New("invalid policy")
)
