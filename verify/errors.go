package verify

import "errors"

// What can keep a package from being accepted. Each refusal wraps the one of these
// that is its cause, or is a [checksum.ErrMismatch] or a [*SumsError].
var (
	// ErrUnchecked: nothing states a hash of the archive that could be compared.
	// [Policy.AllowUnchecked] accepts such packages, except those whose only stated
	// hashes are of unknown schemes.
	ErrUnchecked = errors.New("no hash to check the package against")

	// ErrUnsigned: there is no signature, no SHA256SUMS document that it could
	// cover, or no key that could have made it. [Policy.AllowUnsigned] accepts the
	// hashes that are only stated.
	ErrUnsigned = errors.New("package is not signed")

	// ErrEmpty: the source names a SHA256SUMS document or a signature, and it is empty.
	// That is no way to say that there is none, so no policy that looks at it accepts it.
	ErrEmpty = errors.New("document is empty")

	// ErrUnknownKey: the signature was made by none of the keys that may sign.
	ErrUnknownKey = errors.New("signature by an unknown key")

	// ErrBadSignature: the signature is not one of this document by that key: one
	// of the three has been altered, or does not belong to the others.
	ErrBadSignature = errors.New("bad signature")

	// ErrExpired: the key had expired when it signed, or the signature has expired.
	// [Policy.AllowExpired] accepts both.
	ErrExpired = errors.New("expired signature")

	// ErrFuture: the signature dates from the future. Often the clock of this
	// machine is wrong.
	ErrFuture = errors.New("signature from the future")

	// ErrRevoked: the key that made the signature has been revoked.
	ErrRevoked = errors.New("key is revoked")

	// ErrWeak: the signature rests on an algorithm that can be broken.
	// [Policy.AllowWeak] accepts it.
	ErrWeak = errors.New("weak signature algorithm")

	// ErrNotListed: the SHA256SUMS document has no line for the archive.
	ErrNotListed = errors.New("not listed in SHA256SUMS")

	// ErrOtherRelease: the SHA256SUMS document lists none of the archives that
	// [Policy.SameRelease] has of this version.
	ErrOtherRelease = errors.New("SHA256SUMS lists none of the known archives of this version")

	// ErrFilename: the name of the archive is not that of the version and platform
	// that were asked for, or not a file name at all. [Policy.AllowAnyName] accepts
	// the former.
	ErrFilename = errors.New("unexpected file name")

	// ErrNotAccepted: none of the hashes that [Policy.Accept] lists is one of the
	// package. It comes with a [*checksum.MismatchError], so it is a
	// [checksum.ErrMismatch] too.
	ErrNotAccepted = errors.New("no accepted hash matches")

	// ErrBadKey: a public key cannot be read.
	ErrBadKey = errors.New("unreadable key")

	// ErrPolicy: the policy itself makes no sense.
	ErrPolicy = errors.New("invalid policy")
)
