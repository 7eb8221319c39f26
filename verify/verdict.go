package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/verify/checksum"
)

// unknownKey is the error if no key matches.
func unknownKey(signatures []signature) error {
	var ids []string
	for _, s := range signatures {
		ids = append(ids, s.issuer())
	}
	slices.Sort(ids)
	return fmt.Errorf("%w: made by %s, which is not among the keys", ErrUnknownKey, strings.Join(slices.Compact(ids), " and "))
}

// verdict collects what came of each pair of key and signature.
type verdict struct {
	good    []candidate
	revoked []int // indices of signatures by revoked keys
	err     error
}

// candidate is a good signature, unless another copy of its key is revoked.
type candidate struct {
	index int
	*Signature
}

// tryAll verifies each signature with each key.
func (v *verdict) tryAll(c signatureCheck, doc []byte, signatures []signature, certs []*certificate) error {
	for _, cert := range certs {
		for i, s := range signatures {
			good, err := cert.verify(doc, s, c)
			if errors.Is(err, checksum.ErrTooLarge) {
				return err
			}
			v.take(i, good, err)
		}
	}
	return nil
}

// take keeps the outcome for one key and the signature with this index.
func (v *verdict) take(index int, good *Signature, err error) {
	switch {
	case err == nil:
		v.good = append(v.good, candidate{index, good})
		return
	case err == ErrUnknownKey: // as is: not by this key
		return
	case errors.Is(err, ErrRevoked):
		v.revoked = append(v.revoked, index)
	}
	if nearness(err) >= nearness(v.err) {
		v.err = err
	}
}

// askCopies asks the other copies of each signer's key whether it is revoked. Those that
// have the key that signed have told already; one of the primary key alone tells too.
func (v *verdict) askCopies(certs []*certificate, budget *int) error {
	for _, s := range v.good {
		for _, cert := range certs {
			if cert.fingerprint() != s.Fingerprint {
				continue
			}
			revoked, retired, err := cert.revokedAt(s.Created, budget)
			if err != nil {
				return err
			}
			if revoked {
				v.take(s.index, nil, fmt.Errorf("%w (key %s)", ErrRevoked, s.Fingerprint))
			}
			s.KeyRetired = s.KeyRetired || retired
		}
	}
	return nil
}

// result returns the first good signature that is not by a revoked key.
func (v *verdict) result() (*Signature, error) {
	for _, s := range v.good {
		if !slices.Contains(v.revoked, s.index) {
			return s.Signature, nil
		}
	}
	return nil, v.err
}

// nearness tells how near to success a failure is. The user can do most about the
// nearest one.
func nearness(err error) int {
	order := []error{ErrUnknownKey, ErrBadSignature, ErrRevoked, ErrWeak, ErrFuture, ErrExpired}
	return slices.IndexFunc(order, func(e error) bool { return errors.Is(err, e) })
}
