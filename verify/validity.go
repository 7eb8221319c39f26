package verify

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
)

// validity is what the self-signatures of a certificate say about one of its keys.
type validity struct {
	created     time.Time
	expires     time.Time // zero for never
	signs       bool
	userID      string
	revocations []*packet.Signature
	err         error // if the key cannot sign
}

// anyTime makes the library return the newest valid self-signature, expired or not.
var anyTime time.Time

// validity verifies the self-signatures of key, which is the primary key or the key of sub,
// once. The newest self-signature counts, as in GnuPG, because an owner who extends a key
// often publishes only that one.
func (c *certificate) validity(key *packet.PublicKey, sub *openpgp.Subkey) (validity, error) {
	v, ok := c.validities[key]
	if !ok {
		v, v.err = c.readValidity(key, sub)
		c.validities[key] = v
	}
	return v, v.err
}

func (c *certificate) readValidity(key *packet.PublicKey, sub *openpgp.Subkey) (v validity, err error) {
	primary := c.entity.PrimaryKey
	v.revocations = slices.Clone(c.revocations())
	if sub != nil {
		v.revocations = append(v.revocations, verified(sub.Revocations, func(s *packet.Signature) error {
			return primary.VerifySubkeyRevocationSignature(s, key)
		})...)
	}
	self := c.self()
	if self.err != nil {
		return v, self.err
	}
	v.userID = self.userID
	v.created = primary.CreationTime.UTC()
	v.expires = earliest(lifetime(v.created, self.packet.KeyLifetimeSecs), lifetime(self.packet.CreationTime.UTC(), self.packet.SigLifetimeSecs))
	if direct, err := c.entity.LatestValidDirectSignature(anyTime, nil); err == nil {
		v.expires = earliest(v.expires, lifetime(v.created, direct.KeyLifetimeSecs))
	}
	// Keys without flags may do everything.
	v.signs = primary.CanSign() && (self.packet.FlagSign || !self.packet.FlagsValid)
	if sub == nil {
		return v, nil
	}
	// This also verifies the signature of the subkey about its primary key.
	binding, err := sub.LatestValidBindingSignature(anyTime, nil)
	if err != nil {
		return v, fmt.Errorf("%w: the subkey is not bound to its primary key", ErrUnknownKey)
	}
	if agreed := binding.EmbeddedSignature; agreed != nil { // the library checks only its arithmetic
		if name := criticalNotation(agreed); name != "" {
			return v, fmt.Errorf("%w: the subkey's signature has the unknown critical notation %.60q", ErrUnknownKey, name)
		}
		v.expires = earliest(v.expires, lifetime(agreed.CreationTime.UTC(), agreed.SigLifetimeSecs))
	}
	v.signs = key.CanSign() && binding.FlagSign
	v.created = key.CreationTime.UTC()
	v.expires = earliest(v.expires, lifetime(v.created, binding.KeyLifetimeSecs))
	v.expires = earliest(v.expires, lifetime(binding.CreationTime.UTC(), binding.SigLifetimeSecs))
	return v, nil
}

// revokedAt is validity.revokedAt for the primary key. c may lack the subkey that signed, and
// a valid name.
func (c *certificate) revokedAt(t time.Time, b *budget) (revoked, retired bool, err error) {
	defer recovered(ErrBadSignature, &err)
	if !c.charged {
		if err := c.charge(b, nil); err != nil {
			return false, false, err
		}
	}
	revoked, retired = validity{revocations: c.revocations()}.revokedAt(t)
	return revoked, retired, nil
}

// selfSignature is the newest self-signature of the primary user ID, and that ID.
type selfSignature struct {
	packet *packet.Signature
	userID string
	err    error
}

// newestSelfSignature returns, for version 6 keys, the self-signature of the key. The result does
// not depend on the order of the IDs.
func newestSelfSignature(e *openpgp.Entity) (self selfSignature) {
	revoked := false
	for _, name := range slices.Sorted(maps.Keys(e.Identities)) {
		id := e.Identities[name]
		sig, err := id.Verify(anyTime, nil)
		switch {
		case err != nil:
			_, err := id.LatestValidSelfCertification(anyTime, nil)
			revoked = revoked || err == nil
		case self.packet == nil, isPrimary(sig) && !isPrimary(self.packet),
			isPrimary(sig) == isPrimary(self.packet) && sig.CreationTime.After(self.packet.CreationTime):
			self = selfSignature{packet: sig, userID: name}
		}
	}
	if e.PrimaryKey.Version == 6 {
		self.packet, _ = e.LatestValidDirectSignature(anyTime, nil)
	}
	switch {
	case self.packet != nil:
	case revoked:
		self.err = fmt.Errorf("%w: all user IDs are revoked", ErrRevoked)
	default:
		self.err = fmt.Errorf("%w: the key has no valid self-signature", ErrUnknownKey)
	}
	return self
}

func isPrimary(s *packet.Signature) bool { return s.IsPrimaryId != nil && *s.IsPrimaryId }

// verified returns the signatures that verify accepts.
func verified(list []*packet.VerifiableSignature, verify func(*packet.Signature) error) []*packet.Signature {
	var out []*packet.Signature
	for _, s := range list {
		if verify(s.Packet) == nil {
			out = append(out, s.Packet)
		}
	}
	return out
}

// revokedAt reports whether the key was revoked at time t, or retired later. A key that may be
// stolen counts as revoked at any time, because the thief could backdate signatures.
func (v validity) revokedAt(t time.Time) (revoked, retired bool) {
	for _, r := range v.revocations {
		soft := r.RevocationReason != nil &&
			(*r.RevocationReason == packet.KeySuperseded || *r.RevocationReason == packet.KeyRetired)
		if !soft || !r.CreationTime.After(t) {
			return true, false
		}
		retired = true
	}
	return false, retired
}

func (v validity) expiredAt(t time.Time) bool { return !v.expires.IsZero() && t.After(v.expires) }

// info describes key.
func (v validity) info(key *packet.PublicKey) KeyInfo {
	return KeyInfo{
		ID:          keyID(key),
		Fingerprint: fingerprint(key),
		Algorithm:   algorithm(key),
		Created:     v.created,
		Expires:     v.expires,
		Revoked:     len(v.revocations) > 0,
	}
}

// info describes c and its signing subkeys.
func (c *certificate) info(b *budget) (info KeyInfo, err error) {
	defer recovered(ErrBadKey, &err)
	if err := c.charge(b, nil); err != nil {
		return info, err
	}
	primary := c.entity.PrimaryKey
	v, err := c.validity(primary, nil)
	if errors.Is(err, ErrRevoked) {
		v.created, v.revocations = primary.CreationTime.UTC(), make([]*packet.Signature, 1)
	} else if err != nil {
		return info, err
	}
	info = v.info(primary)
	info.UserIDs = slices.Sorted(maps.Keys(c.entity.Identities))
	for i := range c.entity.Subkeys {
		sub := &c.entity.Subkeys[i]
		if v, err := c.validity(sub.PublicKey, sub); err == nil && v.signs {
			info.Subkeys = append(info.Subkeys, v.info(sub.PublicKey))
		}
	}
	return info, nil
}

// lifetime returns the time that is seconds after from, or zero for never.
func lifetime(from time.Time, seconds *uint32) time.Time {
	if seconds == nil || *seconds == 0 {
		return time.Time{}
	}
	return from.Add(time.Duration(*seconds) * time.Second)
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
