package verify

// Only the files openpgp.go and validity.go use the OpenPGP library.

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/dsa" //lint:ignore SA1019 only to measure keys
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
	"github.com/tofureg/tofureg/failure"
)

// certificate is a primary key with its names, subkeys and self-signatures, which are verified
// when needed.
type certificate struct {
	entity      *openpgp.Entity
	charged     bool                       // its cost was taken from the budget
	revocations func() []*packet.Signature // valid ones of the primary key
	validities  map[*packet.PublicKey]validity
}

// signature is a signature packet, or the error of reading it.
type signature struct {
	packet *packet.Signature
	err    error
}

// recovered turns a panic of the library into an error. No input is known to cause one.
func recovered(kind error, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: the OpenPGP parser failed: %.200q", kind, fmt.Sprint(p))
	}
}

// libraryText returns the text of an error of the library, safe to print.
func libraryText(err error) string { return fmt.Sprintf("%.200q", err.Error()) }

// readCertificates parses one armored block.
func readCertificates(block string) (certs []*certificate, err error) {
	defer recovered(ErrBadKey, &err)
	data, err := dearmor(block)
	if err != nil {
		return nil, err
	}
	entities, err := openpgp.ReadKeyRing(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New(libraryText(err))
	}
	for _, e := range entities {
		private := e.PrivateKey != nil
		for _, sub := range e.Subkeys {
			private = private || sub.PrivateKey != nil
		}
		if private {
			return nil, errors.New("the block holds a private key")
		}
		certs = append(certs, &certificate{entity: e, validities: map[*packet.PublicKey]validity{}, revocations: sync.OnceValue(func() []*packet.Signature {
			return verified(e.Revocations, e.PrimaryKey.VerifyRevocationSignature)
		})})
	}
	if len(certs) == 0 {
		return nil, errors.New("the block holds no key")
	}
	return certs, nil
}

// dearmor returns the binary form of an armored block.
func dearmor(block string) ([]byte, error) {
	b, err := armor.Decode(strings.NewReader(block))
	if err != nil {
		return nil, fmt.Errorf("armor: %s", libraryText(err))
	}
	data, err := io.ReadAll(b.Body)
	if err != nil {
		return nil, fmt.Errorf("armor: %s", libraryText(err))
	}
	return data, nil
}

// readSignatures parses a detached signature, binary or armored.
func readSignatures(data []byte) (list []signature, err error) {
	defer recovered(ErrBadSignature, &err)
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte(armorBegin)) {
		block, err := armor.Decode(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("%w: armor: %s", ErrBadSignature, libraryText(err))
		}
		if block.Type != "PGP SIGNATURE" {
			return nil, fmt.Errorf("%w: %.60q, want a detached signature", ErrBadSignature, block.Type)
		}
		if data, err = io.ReadAll(block.Body); err != nil {
			return nil, fmt.Errorf("%w: armor: %s", ErrBadSignature, libraryText(err))
		}
	}
	packets := packet.NewOpaqueReader(bytes.NewReader(data))
	const tag = 2
	for {
		p, err := packets.Next()
		if err != nil || p.Tag != tag {
			break // data after the signatures is ignored
		}
		if len(list) == maxSignatures {
			return nil, fmt.Errorf("signature %w: more than %d signatures", failure.ErrTooLarge, maxSignatures)
		}
		parsed, err := p.Parse()
		if s, ok := parsed.(*packet.Signature); ok && err == nil {
			list = append(list, signature{packet: s})
		} else if c := p.Contents; len(c) > 3 && c[0] == 4 && (c[3] == 1 || c[3] == 3) {
			// The library does not support these. Byte 3 is the hash algorithm.
			list = append(list, signature{err: fmt.Errorf("%w: MD5 or RIPEMD-160", ErrWeak)})
		} else {
			list = append(list, signature{err: fmt.Errorf("%w: %s", ErrBadSignature, libraryText(err))})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: not a detached OpenPGP signature", ErrBadSignature)
	}
	return list, nil
}

// issuer describes the key that s names as its issuer.
func (s signature) issuer() string {
	switch {
	case s.packet == nil || s.packet.IssuerKeyId == nil:
		return "an unnamed key"
	case len(s.packet.IssuerFingerprint) > 0:
		return fmt.Sprintf("key %X", s.packet.IssuerFingerprint)
	}
	return fmt.Sprintf("key %016X", *s.packet.IssuerKeyId)
}

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
	if check.pins != nil && !slices.Contains(check.pins, fingerprint(c.entity.PrimaryKey)) && !slices.Contains(check.pins, fingerprint(key)) {
		return nil, fmt.Errorf("%w: key %s is not among the %d pinned fingerprints", ErrUnknownKey, fingerprint(c.entity.PrimaryKey), len(check.pins))
	}
	// First, because a hostile key can make the arithmetic take minutes.
	if err := c.charge(check.budget); err != nil {
		return nil, err
	}
	weak := cmp.Or(weakness(c.entity.PrimaryKey), weakness(key), weakHash(s.packet.Hash))
	if weak != "" && !check.allowWeak {
		return nil, fmt.Errorf("%w: %s (key %s)", ErrWeak, weak, fingerprint(c.entity.PrimaryKey))
	}
	if err := verifyDocument(doc, s.packet, key); err != nil {
		return nil, fmt.Errorf("%w: key %s: %s", ErrBadSignature, fingerprint(c.entity.PrimaryKey), err)
	}
	good, err = c.judge(s.packet, key, sub, check)
	if err != nil {
		return nil, fmt.Errorf("%w (key %s)", err, fingerprint(c.entity.PrimaryKey))
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
		return fmt.Errorf("keys %w: more than %d signatures to verify", failure.ErrTooLarge, maxVerifications/each)
	}
	if big != "" {
		return fmt.Errorf("key %s %w: %s", fingerprint(c.entity.PrimaryKey), failure.ErrTooLarge, big)
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
		Fingerprint: fingerprint(c.entity.PrimaryKey),
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

func keyID(k *packet.PublicKey) string { return fmt.Sprintf("%016X", k.KeyId) }

func fingerprint(k *packet.PublicKey) string { return fmt.Sprintf("%X", k.Fingerprint) }

// size returns the size of the key in bits. The library returns the stated length instead,
// which counts leading zeros. Elliptic curves have fixed sizes.
func size(k *packet.PublicKey) int {
	switch key := k.PublicKey.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen()
	case *dsa.PublicKey:
		return key.P.BitLen()
	}
	bits, _ := k.BitLength()
	return int(bits)
}

// weakness describes what is weak about k, or returns "". Some programs make keys of 2,047
// bits instead of 2,048.
func weakness(k *packet.PublicKey) string {
	switch k.PubKeyAlgo {
	case packet.PubKeyAlgoDSA:
		return "a DSA key"
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSASignOnly:
		if bits := size(k); bits < 2047 {
			return fmt.Sprintf("an RSA key of %d bits", bits)
		}
	}
	return ""
}

// oversize describes why k would take too long to verify with, or returns "".
func oversize(k *packet.PublicKey) string {
	if bits := size(k); bits > 8192 {
		return fmt.Sprintf("%d bits, 8192 are allowed", bits)
	}
	if key, ok := k.PublicKey.(*dsa.PublicKey); ok && key.Q.BitLen() > 256 {
		return fmt.Sprintf("a DSA subgroup of %d bits", key.Q.BitLen())
	}
	return ""
}

// cost returns what one verification with k costs. Brainpool curves use big integers in the
// library and take about ten times as long.
func cost(k *packet.PublicKey) int {
	slow := []packet.Curve{packet.CurveBrainpoolP256, packet.CurveBrainpoolP384, packet.CurveBrainpoolP512, packet.CurveSecP256k1}
	if curve, err := k.Curve(); err == nil && slices.Contains(slow, curve) {
		return 10
	}
	return 1
}

// weakHash returns the name of h if it is weak, otherwise "".
func weakHash(h crypto.Hash) string {
	if h.Size() < sha256.Size {
		return h.String()
	}
	return ""
}

// algorithm returns the name of the algorithm of k.
func algorithm(k *packet.PublicKey) string {
	switch k.PubKeyAlgo {
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSASignOnly:
		return fmt.Sprintf("RSA %d", size(k))
	case packet.PubKeyAlgoDSA:
		return fmt.Sprintf("DSA %d", size(k))
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
