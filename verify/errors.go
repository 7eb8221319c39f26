package verify

import "errors"

// Errors of [Policy] and [CheckSignature]. A refusal wraps the variable that is its cause, or
// it is a [checksum.ErrMismatch] or a [*SumsError].
var (
	// No stated hash could be compared. [Policy.AllowUnchecked] accepts the package, unless
	// its source states only hashes of unknown schemes or of other platforms.
	ErrUnchecked = errors.New("no hash to check the package against")

	// Signature, SHA256SUMS document or keys are missing. [Policy.AllowUnsigned] accepts
	// stated hashes instead.
	ErrUnsigned = errors.New("package is not signed")

	// The source names a SHA256SUMS document or a signature that is empty.
	ErrEmpty = errors.New("document is empty")

	// No key that may sign made the signature.
	ErrUnknownKey = errors.New("signature by an unknown key")

	// Document, signature and key do not match.
	ErrBadSignature = errors.New("bad signature")

	// The key had expired when it signed, or the signature has expired. See
	// [Policy.AllowExpired].
	ErrExpired = errors.New("expired signature")

	// The clock of this machine may be wrong.
	ErrFuture = errors.New("signature from the future")

	// The key that signed is revoked.
	ErrRevoked = errors.New("key is revoked")

	// See [Policy.AllowWeak].
	ErrWeak = errors.New("weak signature algorithm")

	// SHA256SUMS has no line for the archive.
	ErrNotListed = errors.New("not listed in SHA256SUMS")

	// See [Policy.SameRelease].
	ErrOtherRelease = errors.New("SHA256SUMS lists none of the known archives of this version")

	// The file name is invalid, or it does not match [Evidence.Want]; for the latter, see
	// [Policy.AllowAnyName].
	ErrFilename = errors.New("unexpected file name")

	// The package has none of the hashes in [Policy.Accept]. The error also wraps a
	// [*checksum.MismatchError].
	ErrNotAccepted = errors.New("no accepted hash matches")

	// A public key cannot be read.
	ErrBadKey = errors.New("unreadable key")

	// The policy is invalid.
	ErrPolicy = errors.New("invalid policy")
)
