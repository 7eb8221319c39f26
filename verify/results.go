package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/verify/checksum"
)

// unknownKey returns the error if no key matches.
func unknownKey(signatures []signature) error {
	var ids []string
	for _, s := range signatures {
		ids = append(ids, s.issuer())
	}
	slices.Sort(ids)
	return fmt.Errorf("%w: made by %s, which is not among the keys that may sign", ErrUnknownKey, strings.Join(slices.Compact(ids), " and "))
}

// results collects the outcomes of all pairs of key and signature.
type results struct {
	good    []candidate
	revoked []int // indices of signatures by revoked keys
	err     error
}

// candidate is a good signature, unless another copy of its key is revoked.
type candidate struct {
	index int
	*Signature
}

// verifyAll verifies each signature with each key.
func (v *results) verifyAll(c signatureCheck, doc []byte, signatures []signature, certs []*certificate) error {
	for _, cert := range certs {
		for i, s := range signatures {
			good, err := cert.verify(doc, s, c)
			if errors.Is(err, checksum.ErrTooLarge) {
				return err
			}
			v.add(i, good, err)
		}
	}
	return nil
}

// add adds the outcome for one key and the signature with this index.
func (v *results) add(index int, good *Signature, err error) {
	switch {
	case err == nil:
		v.good = append(v.good, candidate{index, good})
		return
	case err == ErrUnknownKey: // not wrapped: another key signed
		return
	case errors.Is(err, ErrRevoked):
		v.revoked = append(v.revoked, index)
	}
	if specificity(err) >= specificity(v.err) {
		v.err = err
	}
}

// checkCopies checks whether another copy of a key that made a good signature is revoked. That
// copy may lack the subkey that signed.
func (v *results) checkCopies(certs []*certificate, budget *int) error {
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
				v.add(s.index, nil, fmt.Errorf("%w (key %s)", ErrRevoked, s.Fingerprint))
			}
			s.KeyRetired = s.KeyRetired || retired
		}
	}
	return nil
}

// result returns the first good signature by a key that is not revoked.
func (v *results) result() (*Signature, error) {
	for _, s := range v.good {
		if !slices.Contains(v.revoked, s.index) {
			return s.Signature, nil
		}
	}
	return nil, v.err
}

// specificity returns how close to success a failure is. The error closest to success helps
// users most.
func specificity(err error) int {
	order := []error{ErrUnknownKey, ErrBadSignature, ErrRevoked, ErrWeak, ErrFuture, ErrExpired}
	return slices.IndexFunc(order, func(e error) bool { return errors.Is(err, e) })
}
