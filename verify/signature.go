package verify

import (
	"errors"
	"fmt"
	"time"

	"github.com/tofureg/tofureg/verify/checksum"
)

// A Signature is a signature that has been verified, and the key that made it.
type Signature struct {
	// KeyID and Fingerprint are those of the primary key, in upper-case hex, even
	// where a subkey signed.
	KeyID       string `json:"key_id"`
	Fingerprint string `json:"fingerprint"`

	// Subkey is the fingerprint of the subkey that signed, empty where the primary
	// key did.
	Subkey string `json:"subkey,omitempty"`

	// UserID is the name that the key gives itself. Nobody has verified it.
	UserID string `json:"user_id,omitempty"`

	Algorithm string    `json:"algorithm"` // of the key that signed, for example "RSA 4096"
	Hash      string    `json:"hash"`      // of the document, for example "SHA-256"
	Created   time.Time `json:"created"`   // as the signature states

	// Pinned tells that the caller has named the key, in [Policy.Keys] or
	// [Policy.Fingerprints]. Otherwise the source has listed it, which proves that sums
	// and keys come from the same place, not that the place is honest.
	Pinned bool `json:"pinned,omitempty"`

	// KeyExpired tells that the key was valid when it signed and has expired since.
	// Such a signature stays good.
	KeyExpired bool `json:"key_expired,omitempty"`

	// KeyRetired tells that the owner has retired or replaced the key since, and
	// said so by a revocation with that reason. Such a signature stays good, too.
	KeyRetired bool `json:"key_retired,omitempty"`

	// Expired and Weak tell that the signature was accepted only because of
	// [Policy.AllowExpired] or [Policy.AllowWeak].
	Expired bool `json:"expired,omitempty"`
	Weak    bool `json:"weak,omitempty"`
}

// CheckSignature verifies that sig is a detached OpenPGP signature of doc by one of
// keys; at is the time to check it for (zero: the current time).
//
// The signature may be binary, as the registry protocol wants it, or ASCII-armored.
// Of several signatures in it one good one suffices; what follows a signature and is
// none is ignored. RSA, ECDSA and EdDSA keys are supported, signing subkeys included;
// a signing subkey must be bound to its primary key in both directions.
//
// A signature is good if its key was valid when it signed: created by then, and not
// yet expired according to its newest self-signature. That the key has expired since
// is no error, [Signature.KeyExpired] tells it. Refused are:
//
//   - signatures that have an expiry of their own and are past it, or whose key had
//     expired: [ErrExpired]
//   - signatures that date more than five minutes from the future: [ErrFuture]
//   - keys that are revoked: [ErrRevoked]. Only if the reason is that the key was
//     retired or replaced do signatures from before the revocation stay good. If one
//     of several copies of a key that can be read is revoked, the key is, whatever
//     else that copy lacks.
//   - RSA keys of less than 2,047 bits, DSA keys, and signatures with SHA-1, SHA-224
//     or what is weaker: [ErrWeak]. In the signatures that a key makes on itself SHA-1
//     passes, as fingerprints rest on it too.
//   - anything else: [ErrBadSignature], or [ErrUnknownKey] if no key matches
//
// Where several of these apply, the error is the one that is nearest to success. A
// key that cannot be read verifies nothing and hinders no other key; if none of the
// others made the signature, the error names it and wraps [ErrBadKey] as well. Keys
// of version 4 without user ids, as some key servers give them out, cannot be read.
// Revocations by other keys are not considered.
//
// Beyond these limits the error is [checksum.ErrTooLarge]: a document of [MaxSums] bytes, a
// signature of [MaxSignature] bytes with 16 signatures in it, 100 keys of 1 MiB each
// with 1,000 OpenPGP keys in all of them, RSA and DSA keys of 8,192 bits, 500
// self-signatures on the keys that match, 50 if these are on slow curves.
func CheckSignature(doc, sig []byte, keys []Key, at time.Time) (*Signature, error) {
	if at.IsZero() {
		at = time.Now()
	}
	return signatureCheck{at: at}.run(doc, sig, keys)
}

// clockSkew is how far the clocks of a signer and of this machine may disagree.
const clockSkew = 5 * time.Minute

// The limits of what is verified, so that a hostile source costs seconds at most.
const (
	maxSignatures    = 16   // of one document
	maxCertificates  = 1000 // OpenPGP keys in one list of keys
	maxVerifications = 500  // of these and of what matching keys have in self-signatures
)

// signatureCheck is CheckSignature with the parts of a policy that bear on it.
type signatureCheck struct {
	at                      time.Time
	pins                    []string // canonical fingerprints; nil: any key
	allowExpired, allowWeak bool
	budget                  *int // verifications left; set by run
}

// run tries each key on each signature, which may be revoked in another copy of the key.
func (c signatureCheck) run(doc, sig []byte, keys []Key) (*Signature, error) {
	switch {
	case len(doc) > MaxSums:
		return nil, fmt.Errorf("signed document %w: %d bytes, %d are allowed", checksum.ErrTooLarge, len(doc), MaxSums)
	case len(sig) > MaxSignature:
		return nil, fmt.Errorf("signature %w: %d bytes, %d are allowed", checksum.ErrTooLarge, len(sig), MaxSignature)
	}
	signatures, err := readSignatures(sig)
	if err != nil {
		return nil, err
	}
	certs, unreadable, err := readKeys(keys)
	if err != nil {
		return nil, err
	}
	budget := maxVerifications
	c.budget = &budget
	v := verdict{err: unknownKey(signatures)}
	if err := v.tryAll(c, doc, signatures, certs); err != nil {
		return nil, err
	}
	if err := v.askCopies(certs, c.budget); err != nil {
		return nil, err
	}
	good, err := v.result()
	if unreadable != nil && errors.Is(err, ErrUnknownKey) {
		return nil, fmt.Errorf("%w; %w", err, unreadable) // it may be the key that signed
	}
	return good, err
}

// readKeys parses keys. unreadable tells of those that cannot be parsed; err is about the
// whole list.
func readKeys(keys []Key) (certs []*certificate, unreadable, err error) {
	if len(keys) > maxKeys {
		return nil, nil, fmt.Errorf("list of keys %w: %d keys, %d are allowed", checksum.ErrTooLarge, len(keys), maxKeys)
	}
	for _, key := range keys {
		more, err := key.parse()
		switch {
		case err != nil && unreadable != nil:
			unreadable = fmt.Errorf("%w; %w", unreadable, err)
		case err != nil:
			unreadable = err
		}
		certs = append(certs, more...)
		if len(certs) > maxCertificates {
			return nil, nil, fmt.Errorf("list of keys %w: more than %d OpenPGP keys in it", checksum.ErrTooLarge, maxCertificates)
		}
	}
	return certs, unreadable, nil
}
