package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/scheme"
)

// A Signature is a verified signature and the key that made it.
type Signature struct {
	KeyID       string `json:"key_id"`           // of the primary key, as in [KeyInfo]
	Fingerprint string `json:"fingerprint"`      // of the primary key
	Subkey      string `json:"subkey,omitempty"` // fingerprint of the subkey that signed, if any

	UserID    string    `json:"user_id,omitempty"` // name in the key, not verified
	Algorithm string    `json:"algorithm"`         // of the key that signed
	Hash      string    `json:"hash"`              // of the document, for example "SHA-256"
	Created   time.Time `json:"created"`           // as the signature states

	Pinned     bool `json:"pinned,omitempty"`      // by [Policy.Keys] or [Policy.Fingerprints]
	KeyExpired bool `json:"key_expired,omitempty"` // after it signed

	KeyExpires time.Time `json:"key_expires,omitzero"` // when the key that signed or its primary key expires; zero if never

	KeyRetired bool `json:"key_retired,omitempty"` // retired or superseded after Created

	Expired bool `json:"expired,omitempty"` // accepted by Policy.AllowExpired
	Weak    bool `json:"weak,omitempty"`    // accepted by Policy.AllowWeak
}

// String returns, for example, "key 0C0AF313E5FD9F80, which the source lists".
func (s *Signature) String() string {
	switch {
	case s == nil:
		return "no key"
	case s.Pinned:
		return "key " + s.KeyID + ", which is pinned"
	}
	return "key " + s.KeyID + ", which the source lists"
}

// CheckSignature verifies that sig, binary or armored, is a detached OpenPGP signature of doc by one of keys, at the
// time at; the zero time means now. One valid signature suffices.
//
// RSA, ECDSA, EdDSA, ML-DSA and SLH-DSA keys and their bound signing subkeys are supported. The key must have been valid
// when it signed, according to its newest self-signature; revocations by other keys are ignored. The error wraps
//
//   - [ErrExpired] if the signature has expired, or the key had when it signed
//   - [ErrFuture] if the signature is dated more than five minutes after at
//   - [ErrRevoked] if any copy of the key is revoked, except as superseded or retired after
//     the signature (RFC 9580, section 5.2.3.31)
//   - [ErrWeak] for RSA keys under 2,047 bits, DSA keys, and SHA-224, SHA-1 or weaker, but not
//     for SHA-1 in self-signatures
//   - [ErrUnknownKey] if no key matches, together with [ErrBadKey] if one cannot be read
//   - [github.com/tofureg/tofureg/failure.ErrTooLarge] beyond a document of 1 MiB, a signature of 64 KiB, 16
//     signatures, 100 keys of 1 MiB, 1,000 OpenPGP keys in them, keys of 8,192 bits, 24 MiB of
//     memory to read all these, or 500 verifications, also of self-signatures; slow algorithms
//     count up to 40 times
//   - [ErrBadSignature] otherwise
//
// If several signatures or keys fail, the error is that of the one closest to success.
func CheckSignature(doc, sig []byte, keys []Key, at time.Time) (*Signature, error) {
	if at.IsZero() {
		at = time.Now()
	}
	return signatureCheck{at: at}.run(doc, sig, keys)
}

// clockSkew is the tolerated difference between the clocks of the signer and this machine.
const clockSkew = 5 * time.Minute

// These limits bound the time that a hostile source can cost to seconds.
const (
	maxSignatures    = 16   // of one document
	maxCertificates  = 1000 // OpenPGP keys in all keys
	maxVerifications = 500  // of signatures and of self-signatures of matching keys
)

// signatureCheck has the fields of a policy that concern signatures.
type signatureCheck struct {
	at                      time.Time
	pins                    []string // canonical fingerprints, if pinned is set
	pinned                  bool     // a key must be in pins
	allowExpired, allowWeak bool
	all                     bool    // a key that cannot be read is an error, whoever signed
	requireCurrent          bool    // refuse keys that have expired since they signed
	budget                  *budget // set by run
}

// run verifies each signature with each key. The first good signature counts whose key is not
// revoked in any copy.
func (c signatureCheck) run(doc, sig []byte, keys []Key) (*Signature, error) {
	switch {
	case len(doc) > scheme.MaxSums:
		return nil, fmt.Errorf("signed document %w: %d bytes, %d are allowed", failure.ErrTooLarge, len(doc), scheme.MaxSums)
	case len(sig) > scheme.MaxSignature:
		return nil, fmt.Errorf("signature %w: %d bytes, %d are allowed", failure.ErrTooLarge, len(sig), scheme.MaxSignature)
	}
	c.budget = newBudget()
	signatures, err := readSignatures(sig, c.budget)
	if err != nil {
		return nil, err
	}
	certs, unreadable, err := readKeys(keys, c.all, c.budget)
	if err != nil {
		return nil, err
	}
	type candidate struct {
		index int // of the signature
		*Signature
	}
	var good []candidate
	revoked := map[int]bool{} // signatures by revoked keys
	nearest := unknownKey(signatures)
	fail := func(index int, err error) {
		revoked[index] = revoked[index] || errors.Is(err, ErrRevoked)
		if specificity(err) >= specificity(nearest) {
			nearest = err
		}
	}
	for _, cert := range certs {
		for i, s := range signatures {
			verified, err := cert.verify(doc, s, c)
			switch {
			case err == nil:
				good = append(good, candidate{i, verified})
			case errors.Is(err, failure.ErrTooLarge):
				return nil, err
			case err != ErrUnknownKey: // not wrapped: another key signed
				fail(i, err)
			}
		}
	}
	// A copy of a key that made a good signature may be revoked, and may lack the subkey that signed.
	for _, s := range good {
		for _, cert := range certs {
			if cert.fingerprint != s.Fingerprint {
				continue
			}
			isRevoked, retired, err := cert.revokedAt(s.Created, c.budget)
			if err != nil {
				return nil, err
			}
			if isRevoked {
				fail(s.index, fmt.Errorf("%w (key %s)", ErrRevoked, s.Fingerprint))
			}
			s.KeyRetired = s.KeyRetired || retired
		}
	}
	good = slices.DeleteFunc(good, func(s candidate) bool { return revoked[s.index] })
	if len(good) > 0 {
		// A prolonged copy of a key says more than an older one, in any order.
		current := slices.IndexFunc(good, func(s candidate) bool { return !s.KeyExpired && !s.Expired })
		return good[max(0, current)].Signature, nil
	}
	if unreadable != nil && errors.Is(nearest, ErrUnknownKey) {
		nearest = fmt.Errorf("%w; %w", nearest, unreadable) // it may be the key that signed
	}
	return nil, nearest
}

// unknownKey returns the error if no key matches.
func unknownKey(signatures []signature) error {
	var ids []string
	for _, s := range signatures {
		ids = append(ids, s.issuer())
	}
	slices.Sort(ids)
	return fmt.Errorf("%w: made by %s, which is not among the keys that may sign", ErrUnknownKey, strings.Join(slices.Compact(ids), " and "))
}

// specificity returns how close to success a failure is. The error closest to success helps
// users most.
func specificity(err error) int {
	order := []error{ErrUnknownKey, ErrBadSignature, ErrRevoked, ErrWeak, ErrFuture, ErrExpired}
	return slices.IndexFunc(order, func(e error) bool { return errors.Is(err, e) })
}

// readKeys parses keys. unreadable joins the errors of single keys; err concerns the whole
// list. If all is set, the error of a single key does.
func readKeys(keys []Key, all bool, b *budget) (certs []*certificate, unreadable, err error) {
	if len(keys) > maxKeys {
		return nil, nil, fmt.Errorf("list of keys %w: %d keys, %d are allowed", failure.ErrTooLarge, len(keys), maxKeys)
	}
	for _, key := range keys {
		more, err := key.parse(b, all)
		switch {
		case b.memory < 0, all && err != nil:
			return nil, nil, err
		case err != nil && unreadable != nil:
			unreadable = fmt.Errorf("%w; %w", unreadable, err)
		case err != nil:
			unreadable = err
		}
		certs = append(certs, more...)
		if len(certs) > maxCertificates {
			return nil, nil, fmt.Errorf("list of keys %w: more than %d OpenPGP keys in it", failure.ErrTooLarge, maxCertificates)
		}
	}
	return certs, unreadable, nil
}
