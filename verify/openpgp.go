package verify

// This is the only file that knows the OpenPGP library. Nothing of it leaves the
// file but the types certificate and signature.

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/dsa" //lint:ignore SA1019 only to measure keys
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
)

// certificate is a primary key with its names, subkeys and self-signatures, which
// are verified once they matter.
type certificate struct {
	entity      *openpgp.Entity
	charged     bool                // the budget has paid for it
	revocations []*packet.Signature // those of the primary key that verify
	revoked     bool                // revocations is known
	known       map[*packet.PublicKey]knownValidity
}

// signature is one signature packet, or why it could not be read.
type signature struct {
	packet *packet.Signature
	err    error
}

// recovered turns a panic of the library, which parses what strangers sent, into
// an error. None is known.
func recovered(kind error, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: the OpenPGP parser failed: %.200q", kind, fmt.Sprint(p))
	}
}

// library prepares an error of the library for people: its texts quote no input
// verbatim but for short names, which are made safe here.
func library(err error) string { return fmt.Sprintf("%.200q", err.Error()) }

// readCertificates parses one armored block.
func readCertificates(block string) (certs []*certificate, err error) {
	defer recovered(ErrBadKey, &err)
	b, err := armor.Decode(strings.NewReader(block))
	if err != nil {
		return nil, fmt.Errorf("armor: %s", library(err))
	}
	data, err := io.ReadAll(b.Body)
	if err != nil {
		return nil, fmt.Errorf("armor: %s", library(err))
	}
	entities, err := openpgp.ReadKeyRing(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New(library(err))
	}
	for _, e := range entities {
		private := e.PrivateKey != nil
		for _, sub := range e.Subkeys {
			private = private || sub.PrivateKey != nil
		}
		if private {
			return nil, errors.New("the block holds a private key")
		}
		certs = append(certs, &certificate{entity: e})
	}
	if len(certs) == 0 {
		return nil, errors.New("the block holds no key")
	}
	return certs, nil
}

// readSignatures parses a detached signature, binary or armored.
func readSignatures(data []byte) (list []signature, err error) {
	defer recovered(ErrBadSignature, &err)
	data, err = dearmored(data)
	if err != nil {
		return nil, err
	}
	packets := packet.NewOpaqueReader(bytes.NewReader(data))
	const tag = 2
	for {
		p, err := packets.Next()
		if err != nil || p.Tag != tag {
			break // what follows the signatures is ignored
		}
		if len(list) == maxSignatures {
			return nil, fmt.Errorf("signature %w: more than %d signatures", ErrTooLarge, maxSignatures)
		}
		list = append(list, readSignature(p))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: not a detached OpenPGP signature", ErrBadSignature)
	}
	return list, nil
}

func readSignature(p *packet.OpaquePacket) signature {
	parsed, err := p.Parse()
	if sig, ok := parsed.(*packet.Signature); ok && err == nil {
		return signature{packet: sig}
	}
	// The library knows no MD5 and no RIPEMD-160. Byte 3 names the hash.
	if c := p.Contents; len(c) > 3 && c[0] == 4 && (c[3] == 1 || c[3] == 3) {
		return signature{err: fmt.Errorf("%w: MD5 or RIPEMD-160", ErrWeak)}
	}
	return signature{err: fmt.Errorf("%w: %s", ErrBadSignature, library(err))}
}

// dearmored removes the ASCII armor, if there is one.
func dearmored(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte(armorBegin)) {
		return data, nil
	}
	b, err := armor.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: armor: %s", ErrBadSignature, library(err))
	}
	if b.Type != "PGP SIGNATURE" {
		return nil, fmt.Errorf("%w: %.60q where a detached signature is wanted", ErrBadSignature, b.Type)
	}
	data, err = io.ReadAll(b.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: armor: %s", ErrBadSignature, library(err))
	}
	return data, nil
}

// issuer names the key that s says it is by.
func (s signature) issuer() string {
	switch {
	case s.packet == nil || s.packet.IssuerKeyId == nil:
		return "a key that it does not name"
	case len(s.packet.IssuerFingerprint) > 0:
		return fmt.Sprintf("key %X", s.packet.IssuerFingerprint)
	}
	return fmt.Sprintf("key %016X", *s.packet.IssuerKeyId)
}

func (c *certificate) fingerprint() string { return fingerprint(c.entity.PrimaryKey) }

// verify checks that s is a good signature of doc by c or one of its subkeys.
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
	// All of this before the arithmetic, which can be made to take minutes.
	if err := c.affordable(check.budget); err != nil {
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

// affordable makes sure that verifying c and one signature by it costs little, and
// takes the cost from budget.
func (c *certificate) affordable(budget *int) error {
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
		return fmt.Errorf("keys %w: more than %d signatures to verify", ErrTooLarge, maxVerifications/each)
	}
	if big != "" {
		return fmt.Errorf("key %s %w: %s", c.fingerprint(), ErrTooLarge, big)
	}
	return nil
}

// selfSignatures returns how many signatures c has that say they are its own.
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

// signer returns the key that s says it is by, if it is c or a subkey, which is
// then not nil.
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

// verifyDocument checks the arithmetic and nothing else.
func verifyDocument(doc []byte, s *packet.Signature, key *packet.PublicKey) error {
	if name := criticalNotation(s); name != "" {
		return fmt.Errorf("it has the critical notation %.60q, which is not understood", name)
	}
	h, err := s.PrepareVerify()
	if err != nil {
		return errors.New(library(err))
	}
	switch s.SigType {
	case packet.SigTypeBinary:
		h.Write(doc)
	case packet.SigTypeText: // line ends are CRLF in the hash
		openpgp.NewCanonicalTextHash(h).Write(doc)
	default:
		return fmt.Errorf("it is of type %d, not one of a document", s.SigType)
	}
	if err := key.VerifySignature(h, s); err != nil {
		return errors.New("the document, the signature or the key has been altered")
	}
	return nil
}

// criticalNotation returns the name of a notation that must be understood, "" for none:
// this package understands none.
func criticalNotation(s *packet.Signature) string {
	for _, n := range s.Notations {
		if n.IsCritical {
			return cmp.Or(n.Name, "without a name")
		}
	}
	return ""
}

// judge decides whether key, which made s, may have made it.
func (c *certificate) judge(s *packet.Signature, key *packet.PublicKey, sub *openpgp.Subkey, check signatureCheck) (*Signature, error) {
	v, err := c.validity(key, sub)
	signed := s.CreationTime.UTC()
	revoked, retired := v.revokedAt(signed)
	switch {
	case revoked: // and so are the copies of the key that have no other fault
		return nil, ErrRevoked
	case err != nil:
		return nil, err
	case !v.signs:
		return nil, fmt.Errorf("%w: the key is not meant for signing", ErrUnknownKey)
	case signed.After(check.at.Add(clockSkew)):
		return nil, fmt.Errorf("%w: %s", ErrFuture, signed.Format(time.RFC3339))
	case signed.Add(clockSkew).Before(v.created):
		return nil, fmt.Errorf("%w: it is older than its key", ErrBadSignature)
	}
	expired := ""
	end := lifetime(signed, s.SigLifetimeSecs)
	if v.expiredAt(signed) {
		expired = "the key expired on " + v.expires.Format(time.DateOnly) + " and signed on " + signed.Format(time.DateOnly)
	} else if !end.IsZero() && check.at.After(end) {
		expired = "it was valid until " + end.Format(time.RFC3339)
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

// validity is what the self-signatures of a certificate say about one of its keys.
type validity struct {
	created     time.Time
	expires     time.Time // zero: never
	signs       bool
	userID      string
	revocations []*packet.Signature
}

// The library takes the zero time for "whenever": it then returns the newest
// self-signature that verifies, and leaves expiry to its caller.
var whenever time.Time

// knownValidity is the outcome of validity.
type knownValidity struct {
	validity validity
	err      error
}

// validity verifies the self-signatures that concern key, which is the primary key
// or that of sub, unless that has been done. The newest one counts, as in GnuPG: an
// owner who prolongs a key often publishes only that one.
func (c *certificate) validity(key *packet.PublicKey, sub *openpgp.Subkey) (validity, error) {
	k, ok := c.known[key]
	if !ok {
		k.validity, k.err = c.readValidity(key, sub)
		if c.known == nil {
			c.known = map[*packet.PublicKey]knownValidity{}
		}
		c.known[key] = k
	}
	return k.validity, k.err
}

func (c *certificate) readValidity(key *packet.PublicKey, sub *openpgp.Subkey) (v validity, err error) {
	primary := c.entity.PrimaryKey
	v.revocations = slices.Clone(c.primaryRevocations())
	if sub != nil {
		v.revocations = append(v.revocations, verified(sub.Revocations, func(s *packet.Signature) error {
			return primary.VerifySubkeyRevocationSignature(s, key)
		})...)
	}
	self, userID, err := c.selfSignature()
	if err != nil {
		return v, err
	}
	v.userID = userID
	v.created = primary.CreationTime.UTC()
	v.expires = earliest(lifetime(v.created, self.KeyLifetimeSecs), lifetime(self.CreationTime.UTC(), self.SigLifetimeSecs))
	if direct, err := c.entity.LatestValidDirectSignature(whenever, nil); err == nil {
		v.expires = earliest(v.expires, lifetime(v.created, direct.KeyLifetimeSecs))
	}
	// Keys from before there were flags may do everything.
	v.signs = primary.CanSign() && (self.FlagSign || !self.FlagsValid)
	if sub == nil {
		return v, nil
	}
	// This covers the signature by which the subkey itself agrees.
	binding, err := sub.LatestValidBindingSignature(whenever, nil)
	if err != nil {
		return v, fmt.Errorf("%w: the subkey is not bound to its primary key", ErrUnknownKey)
	}
	if agreed := binding.EmbeddedSignature; agreed != nil { // of which the library checks only the arithmetic
		if name := criticalNotation(agreed); name != "" {
			return v, fmt.Errorf("%w: the subkey's agreement has the critical notation %.60q, which is not understood", ErrUnknownKey, name)
		}
		v.expires = earliest(v.expires, lifetime(agreed.CreationTime.UTC(), agreed.SigLifetimeSecs))
	}
	v.signs = key.CanSign() && binding.FlagSign
	v.created = key.CreationTime.UTC()
	v.expires = earliest(v.expires, lifetime(v.created, binding.KeyLifetimeSecs))
	v.expires = earliest(v.expires, lifetime(binding.CreationTime.UTC(), binding.SigLifetimeSecs))
	return v, nil
}

// primaryRevocations returns the revocations of the primary key that verify.
func (c *certificate) primaryRevocations() []*packet.Signature {
	if !c.revoked {
		c.revocations = verified(c.entity.Revocations, c.entity.PrimaryKey.VerifyRevocationSignature)
		c.revoked = true
	}
	return c.revocations
}

// revokedAt is that of validity, for the primary key alone: c may have nothing else,
// neither a valid name nor the subkey that signed.
func (c *certificate) revokedAt(t time.Time, budget *int) (revoked, retired bool, err error) {
	defer recovered(ErrBadSignature, &err)
	if !c.charged {
		if err := c.affordable(budget); err != nil {
			return false, false, err
		}
	}
	revoked, retired = validity{revocations: c.primaryRevocations()}.revokedAt(t)
	return revoked, retired, nil
}

// selfSignature returns the newest self-signature of the primary user id, and that
// id; for keys of version 6 the one of the key itself. The choice does not depend on
// the order of the ids.
func (c *certificate) selfSignature() (self *packet.Signature, userID string, err error) {
	revoked := false
	for _, name := range slices.Sorted(maps.Keys(c.entity.Identities)) {
		id := c.entity.Identities[name]
		sig, err := id.Verify(whenever, nil)
		switch {
		case err != nil:
			_, err := id.LatestValidSelfCertification(whenever, nil)
			revoked = revoked || err == nil
		case self == nil, isPrimary(sig) && !isPrimary(self),
			isPrimary(sig) == isPrimary(self) && sig.CreationTime.After(self.CreationTime):
			self, userID = sig, name
		}
	}
	if c.entity.PrimaryKey.Version == 6 {
		self, _ = c.entity.LatestValidDirectSignature(whenever, nil)
	}
	switch {
	case self != nil:
		return self, userID, nil
	case revoked:
		return nil, "", fmt.Errorf("%w: all its user ids are", ErrRevoked)
	}
	return nil, "", fmt.Errorf("%w: the key has no valid self-signature", ErrUnknownKey)
}

func isPrimary(s *packet.Signature) bool { return s.IsPrimaryId != nil && *s.IsPrimaryId }

// verified returns those of the signatures that verify.
func verified(list []*packet.VerifiableSignature, verify func(*packet.Signature) error) []*packet.Signature {
	var out []*packet.Signature
	for _, s := range list {
		if verify(s.Packet) == nil {
			out = append(out, s.Packet)
		}
	}
	return out
}

// revokedAt reports whether the key could no longer sign at time t, and whether it
// was retired after that. A key that may have been stolen could never sign: its
// thief would date signatures back.
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

// info describes c and those of its subkeys that may sign.
func (c *certificate) info(budget *int) (info KeyInfo, err error) {
	defer recovered(ErrBadKey, &err)
	if err := c.affordable(budget); err != nil {
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

// lifetime returns when something ends that began at from, zero for never.
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

func keyID(k *packet.PublicKey) string { return fmt.Sprintf("%016X", k.KeyId) }

func fingerprint(k *packet.PublicKey) string { return fmt.Sprintf("%X", k.Fingerprint) }

// weakness says what is weak about k, "" for nothing. Some programs make keys of
// 2,047 bits when asked for 2,048.
func weakness(k *packet.PublicKey) string {
	switch k.PubKeyAlgo {
	case packet.PubKeyAlgoDSA:
		return "a DSA key"
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSASignOnly:
		if bits, err := k.BitLength(); err != nil || bits < 2047 {
			return fmt.Sprintf("an RSA key of %d bits", bits)
		}
	}
	return ""
}

// oversize says what about k would take too long, "" for nothing. Elliptic curves
// have one size each.
func oversize(k *packet.PublicKey) string {
	bits, err := k.BitLength()
	if err == nil && bits > 8192 {
		return fmt.Sprintf("%d bits, 8192 are allowed", bits)
	}
	if key, ok := k.PublicKey.(*dsa.PublicKey); ok && key.Q.BitLen() > 256 {
		return fmt.Sprintf("a DSA subgroup of %d bits", key.Q.BitLen())
	}
	return ""
}

// cost is what one verification with k counts for in a budget. The library computes on
// Brainpool curves with big integers, which takes about ten times as long as the rest.
func cost(k *packet.PublicKey) int {
	switch curve, err := k.Curve(); {
	case err != nil:
		return 1
	case curve == packet.CurveBrainpoolP256, curve == packet.CurveBrainpoolP384, curve == packet.CurveBrainpoolP512,
		curve == packet.CurveSecP256k1:
		return 10
	}
	return 1
}

func weakHash(h crypto.Hash) string {
	if h.Size() < sha256.Size {
		return h.String()
	}
	return ""
}

// algorithm names the algorithm of k for people.
func algorithm(k *packet.PublicKey) string {
	bits, _ := k.BitLength()
	switch k.PubKeyAlgo {
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSASignOnly:
		return fmt.Sprintf("RSA %d", bits)
	case packet.PubKeyAlgoDSA:
		return fmt.Sprintf("DSA %d", bits)
	case packet.PubKeyAlgoEd25519:
		return "Ed25519"
	case packet.PubKeyAlgoEd448:
		return "Ed448"
	}
	curve, err := k.Curve()
	switch {
	case err != nil:
		return fmt.Sprintf("algorithm %d", k.PubKeyAlgo)
	case curve == packet.Curve25519:
		return "Ed25519"
	case curve == packet.Curve448:
		return "Ed448"
	}
	return "ECDSA " + string(curve)
}
