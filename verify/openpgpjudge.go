package verify

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
	"github.com/tofureg/tofureg/verify/checksum"
)

// verify verifies that s is a good signature of doc by c or one of its subkeys.
func (c *certificate) verify(doc []byte, s signature, check signatureCheck) (good *Signature, err error) {
	defer recovered(ErrBadSignature, &err)
	if s.err != nil {
		return nil, s.err
	}
	key, sub := c.signer(s.packet)
	if key == nil {
		return nil, ErrUnknownKey
	}
	if check.pins != nil && !slices.Contains(check.pins, c.fingerprint()) && !slices.Contains(check.pins, fingerprint(key)) {
		return nil, fmt.Errorf("%w: key %s is not among the %d pinned fingerprints", ErrUnknownKey, c.fingerprint(), len(check.pins))
	}
	// First, because a hostile key can make the arithmetic take minutes.
	if err := c.charge(check.budget); err != nil {
		return nil, err
	}
	weak := cmp.Or(weakness(c.entity.PrimaryKey), weakness(key), weakHash(s.packet.Hash))
	if weak != "" && !check.allowWeak {
		return nil, fmt.Errorf("%w: %s (key %s)", ErrWeak, weak, c.fingerprint())
	}
	if err := verifyDocument(doc, s.packet, key); err != nil {
		return nil, fmt.Errorf("%w: key %s: %s", ErrBadSignature, c.fingerprint(), err)
	}
	good, err = c.judge(s.packet, key, sub, check)
	if err != nil {
		return nil, fmt.Errorf("%w (key %s)", err, c.fingerprint())
	}
	good.Weak = weak != ""
	return good, nil
}

// charge takes the cost of verifying c and one signature by c from budget. It returns an error
// if they cost too much.
func (c *certificate) charge(budget *int) error {
	big, each := oversize(c.entity.PrimaryKey), cost(c.entity.PrimaryKey)
	for _, sub := range c.entity.Subkeys {
		big, each = cmp.Or(big, oversize(sub.PublicKey)), max(each, cost(sub.PublicKey))
	}
	*budget -= each
	if !c.charged {
		c.charged = true
		*budget -= each * c.selfSignatures()
	}
	if *budget < 0 {
		return fmt.Errorf("keys %w: more than %d signatures to verify", checksum.ErrTooLarge, maxVerifications/each)
	}
	if big != "" {
		return fmt.Errorf("key %s %w: %s", c.fingerprint(), checksum.ErrTooLarge, big)
	}
	return nil
}

// selfSignatures returns the number of signatures that c claims to have made about itself.
func (c *certificate) selfSignatures() int {
	n := len(c.entity.Revocations) + len(c.entity.DirectSignatures)
	for _, id := range c.entity.Identities {
		n += len(id.SelfCertifications) + len(id.Revocations)
	}
	for _, sub := range c.entity.Subkeys {
		n += len(sub.Bindings) + len(sub.Revocations)
	}
	return n
}

// signer returns the issuer of s if it is c or a subkey. sub is nil for the primary key.
func (c *certificate) signer(s *packet.Signature) (*packet.PublicKey, *openpgp.Subkey) {
	if s.CheckKeyIdOrFingerprint(c.entity.PrimaryKey) {
		return c.entity.PrimaryKey, nil
	}
	for i := range c.entity.Subkeys {
		if sub := &c.entity.Subkeys[i]; s.CheckKeyIdOrFingerprint(sub.PublicKey) {
			return sub.PublicKey, sub
		}
	}
	return nil, nil
}

// verifyDocument verifies the signature cryptographically.
func verifyDocument(doc []byte, s *packet.Signature, key *packet.PublicKey) error {
	if name := criticalNotation(s); name != "" {
		return fmt.Errorf("unknown critical notation %.60q", name)
	}
	h, err := s.PrepareVerify()
	if err != nil {
		return errors.New(libraryText(err))
	}
	switch s.SigType {
	case packet.SigTypeBinary:
		h.Write(doc)
	case packet.SigTypeText: // hashed with CRLF line ends
		openpgp.NewCanonicalTextHash(h).Write(doc)
	default:
		return fmt.Errorf("type %d is not a document signature", s.SigType)
	}
	if err := key.VerifySignature(h, s); err != nil {
		return errors.New("the document, the signature or the key has been altered")
	}
	return nil
}

// criticalNotation returns the name of a critical notation, or "". Critical notations must be
// understood, and this package understands none.
func criticalNotation(s *packet.Signature) string {
	for _, n := range s.Notations {
		if n.IsCritical {
			return cmp.Or(n.Name, "without a name")
		}
	}
	return ""
}

// judge checks whether key, which made s, was allowed to.
func (c *certificate) judge(s *packet.Signature, key *packet.PublicKey, sub *openpgp.Subkey, check signatureCheck) (*Signature, error) {
	v, err := c.validity(key, sub)
	signed := s.CreationTime.UTC()
	revoked, retired := v.revokedAt(signed)
	switch {
	case revoked: // first, because checks of other copies rely on it
		return nil, ErrRevoked
	case err != nil:
		return nil, err
	case !v.signs:
		return nil, fmt.Errorf("%w: the key may not sign", ErrUnknownKey)
	case signed.After(check.at.Add(clockSkew)):
		return nil, fmt.Errorf("%w: %s", ErrFuture, signed.Format(time.RFC3339))
	case signed.Add(clockSkew).Before(v.created):
		return nil, fmt.Errorf("%w: the signature is older than its key", ErrBadSignature)
	}
	expired := ""
	end := lifetime(signed, s.SigLifetimeSecs)
	if v.expiredAt(signed) {
		expired = "the key expired on " + v.expires.Format(time.DateOnly) + " and signed on " + signed.Format(time.DateOnly)
	} else if !end.IsZero() && check.at.After(end) {
		expired = "the signature was valid until " + end.Format(time.RFC3339)
	}
	if expired != "" && !check.allowExpired {
		return nil, fmt.Errorf("%w: %s", ErrExpired, expired)
	}
	good := &Signature{
		KeyID:       keyID(c.entity.PrimaryKey),
		Fingerprint: c.fingerprint(),
		UserID:      v.userID,
		Algorithm:   algorithm(key),
		Hash:        s.Hash.String(),
		Created:     signed,
		KeyExpired:  expired == "" && v.expiredAt(check.at),
		KeyRetired:  retired,
		Expired:     expired != "",
	}
	if sub != nil {
		good.Subkey = fingerprint(key)
	}
	return good, nil
}
