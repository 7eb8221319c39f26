package verify

// Only the files openpgp.go and validity.go use the OpenPGP library.

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/dsa" //lint:ignore SA1019 only to measure keys
	"crypto/rsa"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
	"golang.org/x/crypto/cryptobyte"

	"github.com/tofureg/tofureg/failure"
)

// certificate is a primary key with its names, subkeys and self-signatures, which are verified
// when needed.
type certificate struct {
	entity      *openpgp.Entity
	fingerprint string                     // of the primary key
	charged     bool                       // its cost was taken from the budget
	revocations func() []*packet.Signature // valid ones of the primary key
	self        func() selfSignature
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

// readCertificates parses one armored block. If all is set, no key in it is ignored.
func readCertificates(block string, b *budget, all bool) (certs []*certificate, err error) {
	defer recovered(ErrBadKey, &err)
	_, data, err := dearmor(block, b)
	if err != nil {
		return nil, err
	}
	keys, err := walkKeys(data, b)
	if err != nil {
		return nil, err
	}
	unreadable := errors.New("the block holds no key")
	for _, key := range keys {
		c, err := readCertificate(key)
		if err != nil {
			unreadable = err
			continue
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 || all && len(certs) < len(keys) {
		return nil, unreadable
	}
	return certs, nil
}

func readCertificate(key rawKey) (*certificate, error) {
	if key.err != nil {
		return nil, key.err
	}
	var parsed []packet.Packet
	for i, raw := range key.packets {
		p, err := raw.parse()
		if unsupported := pgperrors.UnsupportedError(""); i > 0 && errors.As(err, &unsupported) {
			p, err = &packet.UnsupportedPacket{IncompletePacket: p, Error: unsupported}, nil
		}
		if err != nil {
			return nil, errors.New(libraryText(err))
		}
		parsed = append(parsed, p)
	}
	packets := packet.NewReader(bytes.NewReader(nil))
	for _, p := range slices.Backward(parsed) {
		packets.Unread(p)
	}
	e, err := openpgp.ReadEntity(packets)
	if err != nil {
		return nil, errors.New(libraryText(err))
	}
	return &certificate{
		entity:      e,
		fingerprint: fingerprint(e.PrimaryKey),
		revocations: sync.OnceValue(func() []*packet.Signature {
			return verified(e.Revocations, e.PrimaryKey.VerifyRevocationSignature)
		}),
		self:       sync.OnceValue(func() selfSignature { return newestSelfSignature(e) }),
		validities: map[*packet.PublicKey]validity{},
	}, nil
}

// parse parses p and ignores what follows its last field.
func (p rawPacket) parse() (packet.Packet, error) {
	framed := make([]byte, 0, 6+len(p.body))
	framed = append(framed, 0xc0|p.typ, 255)
	framed = binary.BigEndian.AppendUint32(framed, uint32(len(p.body)))
	return packet.Read(bytes.NewReader(append(framed, p.body...)))
}

// maxArmorHeaders is the maximum size of all headers of an armored block, such as "Comment: text". The
// library takes quadratic time for a long one.
const maxArmorHeaders = 4 << 10

// dearmor returns the type and the binary form of an armored block.
func dearmor(block string, budget *budget) (typ string, data []byte, err error) {
	if err := budget.take(packetMemory + 2*len(block)); err != nil {
		return "", nil, err
	}
	headers := 0
	for line := range strings.Lines(block) {
		if strings.Contains(line, ":") {
			headers += len(line)
		}
	}
	if headers > maxArmorHeaders {
		return "", nil, fmt.Errorf("armor headers %w: %d bytes, %d are allowed", failure.ErrTooLarge, headers, maxArmorHeaders)
	}
	b, err := armor.Decode(strings.NewReader(block))
	var buf bytes.Buffer
	if err == nil {
		buf.Grow(len(block)/4*3 + bytes.MinRead)
		_, err = buf.ReadFrom(b.Body)
	}
	if err != nil {
		return "", nil, fmt.Errorf("armor: %s", libraryText(err))
	}
	return b.Type, buf.Bytes(), nil
}

// readSignatures parses a detached signature, binary or armored.
func readSignatures(data []byte, b *budget) (list []signature, err error) {
	defer recovered(ErrBadSignature, &err)
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("-----BEGIN PGP ")) {
		typ, binary, err := dearmor(string(data), b)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBadSignature, err)
		}
		if typ != "PGP SIGNATURE" {
			return nil, fmt.Errorf("%w: %.60q, want a detached signature", ErrBadSignature, typ)
		}
		data = binary
	}
	for rest := cryptobyte.String(data); !rest.Empty(); {
		p, err := nextPacket(&rest)
		if err != nil || p.typ != typeSignature {
			break // data after the signatures is ignored
		}
		if len(list) == maxSignatures {
			return nil, fmt.Errorf("signature %w: more than %d signatures", failure.ErrTooLarge, maxSignatures)
		}
		s, err := readSignature(p, b)
		if errors.Is(err, failure.ErrTooLarge) {
			return nil, err
		}
		list = append(list, signature{packet: s, err: err})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: not a detached OpenPGP signature", ErrBadSignature)
	}
	return list, nil
}

func readSignature(p rawPacket, b *budget) (*packet.Signature, error) {
	memory, err := p.inspect()
	if err == nil {
		err = b.take(memory)
	}
	switch {
	case errors.Is(err, failure.ErrTooLarge):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrBadSignature, err)
	case memory == 0:
		return nil, fmt.Errorf("%w: unsupported version", ErrBadSignature)
	}
	parsed, err := p.parse()
	if s, ok := parsed.(*packet.Signature); ok && err == nil {
		return s, nil
	}
	if c := p.body; c[0] == 4 && (c[3] == 1 || c[3] == 3) {
		// The library does not support these. Byte 3 is the hash algorithm.
		return nil, fmt.Errorf("%w: MD5 or RIPEMD-160", ErrWeak)
	}
	return nil, fmt.Errorf("%w: %s", ErrBadSignature, libraryText(err))
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
	if check.pinned && !slices.Contains(check.pins, c.fingerprint) && !slices.Contains(check.pins, fingerprint(key)) {
		return nil, fmt.Errorf("%w: key %s is not among the %d pinned fingerprints", ErrUnknownKey, c.fingerprint, len(check.pins))
	}
	// First, because a hostile key can make the arithmetic take minutes.
	if err := c.charge(check.budget, doc); err != nil {
		return nil, err
	}
	weak := cmp.Or(weakness(c.entity.PrimaryKey), weakness(key), weakHash(s.packet.Hash))
	if weak != "" && !check.allowWeak {
		return nil, fmt.Errorf("%w: %s (key %s)", ErrWeak, weak, c.fingerprint)
	}
	if err := verifyDocument(doc, s.packet, key); err != nil {
		return nil, fmt.Errorf("%w: key %s: %s", ErrBadSignature, c.fingerprint, err)
	}
	good, err = c.judge(s.packet, key, sub, check)
	if err != nil {
		return nil, fmt.Errorf("%w (key %s)", err, c.fingerprint)
	}
	good.Weak = weak != ""
	return good, nil
}

// charge takes the cost of verifying c and one signature of doc by c from b. It returns an error
// if they cost too much.
func (c *certificate) charge(b *budget, doc []byte) error {
	keys := []*packet.PublicKey{c.entity.PrimaryKey}
	for _, sub := range c.entity.Subkeys {
		keys = append(keys, sub.PublicKey)
	}
	big, each := "", 1
	for _, key := range keys {
		if key.CanSign() {
			big, each = cmp.Or(big, oversize(key)), max(each, cost(key))
		}
	}
	b.verifications -= each + len(doc)>>16 // hashing a MiB takes as long as 16 verifications
	if !c.charged {
		c.charged = true
		b.verifications -= each * c.selfSignatures()
	}
	if b.verifications < 0 {
		return fmt.Errorf("keys %w: more than %d signatures to verify", failure.ErrTooLarge, maxVerifications/each)
	}
	if big != "" {
		return fmt.Errorf("key %s %w: %s", c.fingerprint, failure.ErrTooLarge, big)
	}
	return nil
}

// selfSignatures returns the number of signatures that c claims to have made about itself. A subkey
// counts even without one.
func (c *certificate) selfSignatures() int {
	n := len(c.entity.Revocations) + len(c.entity.DirectSignatures)
	for _, id := range c.entity.Identities {
		n += len(id.SelfCertifications) + len(id.Revocations)
	}
	for _, sub := range c.entity.Subkeys {
		n += max(1, len(sub.Bindings)+len(sub.Revocations))
		for _, binding := range sub.Bindings {
			if binding.Packet.EmbeddedSignature != nil {
				n++
			}
		}
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
	} else if check.requireCurrent && v.expiredAt(check.at) {
		expired = "the key expired on " + v.expires.Format(time.DateOnly) + ", after it signed"
	} else if !end.IsZero() && check.at.After(end) {
		expired = "the signature was valid until " + end.Format(time.RFC3339)
	}
	if expired != "" && !check.allowExpired {
		return nil, fmt.Errorf("%w: %s", ErrExpired, expired)
	}
	good := &Signature{
		KeyID:       keyID(c.entity.PrimaryKey),
		Fingerprint: c.fingerprint,
		UserID:      v.userID,
		Algorithm:   algorithm(key),
		Hash:        s.Hash.String(),
		Created:     signed,
		KeyExpired:  expired == "" && v.expiredAt(check.at),
		KeyExpires:  v.expires,
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
	_, isRSA := k.PublicKey.(*rsa.PublicKey)
	key, isDSA := k.PublicKey.(*dsa.PublicKey)
	if bits := size(k); (isRSA || isDSA) && bits > 8192 {
		return fmt.Sprintf("%d bits, 8192 are allowed", bits)
	}
	if isDSA && key.Q.BitLen() > 256 {
		return fmt.Sprintf("a DSA subgroup of %d bits", key.Q.BitLen())
	}
	return ""
}

// cost returns what one verification with k costs, in units of up to a millisecond and, except on slow
// curves, 64 KiB. The library has only big integers for Brainpool curves: 40 units take 6 MiB.
func cost(k *packet.PublicKey) int {
	kilobits := size(k) >> 10
	switch k.PubKeyAlgo {
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSASignOnly:
		return max(1, kilobits*kilobits/8)
	case packet.PubKeyAlgoDSA:
		return max(1, kilobits*kilobits/2)
	case packet.PubKeyAlgoSlhdsaShake128s, packet.PubKeyAlgoSlhdsaShake128f, packet.PubKeyAlgoSlhdsaShake256s:
		return 5
	}
	switch curve, _ := k.Curve(); curve {
	case packet.CurveNistP521:
		return 4
	case packet.CurveBrainpoolP256, packet.CurveSecP256k1:
		return 10
	case packet.CurveBrainpoolP384:
		return 20
	case packet.CurveBrainpoolP512:
		return 40
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
	case packet.PubKeyAlgoMldsa65Ed25519:
		return "ML-DSA-65 with Ed25519"
	case packet.PubKeyAlgoMldsa87Ed448:
		return "ML-DSA-87 with Ed448"
	case packet.PubKeyAlgoSlhdsaShake128s, packet.PubKeyAlgoSlhdsaShake128f, packet.PubKeyAlgoSlhdsaShake256s:
		return "SLH-DSA"
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
