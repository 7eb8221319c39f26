package verify

import "errors"

// Errors of [Policy] and [CheckSignature]. For others, see [Examination].
var (
	// No stated hash could be compared. See [Policy.AllowUnchecked].
	ErrUnchecked = errors.New("no hash to check the package against")

	// A hash of the bytes of an archive is stated, and the call did not get one of its scheme. See [Policy.Judge].
	ErrNotComputed = errors.New("a hash of the archive was not computed")

	// Signature, SHA256SUMS document or keys are missing. Without any hash it is ErrUnchecked, unless a
	// signature is required. See [Policy.AllowUnsigned].
	ErrUnsigned = errors.New("package is not signed")

	// SHA256SUMS or its signature has no bytes.
	ErrEmpty = errors.New("document is empty")

	// No key that may sign made the signature.
	ErrUnknownKey = errors.New("signature by an unknown key")

	// The signature is damaged, or of another document.
	ErrBadSignature = errors.New("bad signature")

	// The signature has expired, or the key when it signed. See [Policy.AllowExpired] and
	// [Policy.RequireCurrent].
	ErrExpired = errors.New("expired signature")

	// The clock of this machine may be wrong.
	ErrFuture = errors.New("signature from the future")

	// The signing key is revoked.
	ErrRevoked = errors.New("key is revoked")

	// See [Policy.AllowWeak].
	ErrWeak = errors.New("weak signature algorithm")

	// SHA256SUMS has no line for the archive.
	ErrNotListed = errors.New("not listed in SHA256SUMS")

	// See [Policy.SameRelease].
	ErrOtherRelease = errors.New("SHA256SUMS lists none of the known archives of this version")

	// The file name does not match [Evidence.Requested] (see [Policy.AllowAnyName]), or is invalid.
	ErrFilename = errors.New("unexpected file name")

	// The package has no hash in [Policy.Accept]. Also wraps a [*checksum.MismatchError].
	ErrNotAccepted = errors.New("no accepted hash matches")

	// The archive lacks the provenance that [Policy.Provenance] demands.
	ErrProvenance = errors.New("no accepted provenance")

	// The hashes of the archive itself are needed. See [CheckedSums.JudgeStated].
	ErrNotStated = errors.New("the stated hashes do not suffice")

	// A public key cannot be read.
	ErrBadKey = errors.New("unreadable key")

	// Fields of the policy contradict each other (see [Policy.Validate]), a fingerprint is invalid, [Policy.Provenance] is
	// unusable, or a call does not permit a field that is set.
	ErrPolicy = errors.New("invalid policy")
)
