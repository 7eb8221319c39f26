package verify_test

import (
	"bytes"
	"crypto"
	"crypto/dsa" //lint:ignore SA1019 such keys exist
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify"
)

// The keys and signatures here are made with the same library that verifies them:
// forms that gpg does not make, or not on request.

func config(c packet.Config) *packet.Config {
	if c.Time == nil {
		c.Time = func() time.Time { return date("2024-01-01") }
	}
	if c.Algorithm == 0 {
		c.Algorithm = packet.PubKeyAlgoEdDSA
	}
	return &c
}

// cfg makes keys of Ed25519.
var cfg = config(packet.Config{})

func entity(t testing.TB, name string, c *packet.Config) *openpgp.Entity {
	t.Helper()
	return must.Get(openpgp.NewEntity(name, "", name+"@example.com", c))(t)
}

func armored(t testing.TB, typ string, write func(b *bytes.Buffer) error) string {
	t.Helper()
	var raw, out bytes.Buffer
	must.Do(t, write(&raw))
	w := must.Get(armor.Encode(&out, typ, nil))(t)
	must.Get(w.Write(raw.Bytes()))(t)
	must.Do(t, w.Close())
	return out.String() + "\n"
}

func public(t testing.TB, e *openpgp.Entity) verify.Key {
	t.Helper()
	return verify.Key{Armor: armored(t, openpgp.PublicKeyType, func(b *bytes.Buffer) error { return e.Serialize(b) })}
}

func privateKey(t testing.TB) string {
	t.Helper()
	e := entity(t, "private", cfg)
	return armored(t, openpgp.PrivateKeyType, func(b *bytes.Buffer) error { return e.SerializePrivateWithoutSigning(b, nil) })
}

// sign makes a signature with the private key, whatever the rules say.
func sign(t testing.TB, doc []byte, key *packet.PrivateKey, typ packet.SignatureType, hash crypto.Hash, at time.Time) []byte {
	t.Helper()
	sig := &packet.Signature{SigType: typ, PubKeyAlgo: key.PubKeyAlgo, Hash: hash, CreationTime: at, IssuerKeyId: &key.KeyId}
	h := must.Get(sig.PrepareSign(cfg))(t)
	h.Write(doc)
	must.Do(t, sig.Sign(h, key, cfg))
	var b bytes.Buffer
	must.Do(t, sig.Serialize(&b))
	return b.Bytes()
}

// doc is what most tests sign.
var doc = []byte("document")

// signed signs the document.
func signed(t testing.TB, key *packet.PrivateKey) []byte {
	t.Helper()
	return sign(t, doc, key, packet.SigTypeBinary, crypto.SHA256, date("2024-02-01"))
}

// withSubkey makes a key with a signing subkey.
func withSubkey(t testing.TB, name string) (*openpgp.Entity, *openpgp.Subkey) {
	t.Helper()
	e := entity(t, name, cfg)
	must.Do(t, e.AddSigningSubkey(cfg))
	return e, &e.Subkeys[len(e.Subkeys)-1]
}

// TestEncryptionSubkey: a subkey of an algorithm that can sign, but that is bound for encryption, signs nothing.
func TestEncryptionSubkey(t *testing.T) {
	t.Parallel()
	c := config(packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 2048})
	e := entity(t, "signer", c)
	if len(e.Subkeys) == 0 || !e.Subkeys[0].PublicKey.CanSign() {
		t.Fatalf("the key has %d subkeys, want one of RSA", len(e.Subkeys))
	}
	keys := []verify.Key{public(t, e)}
	wantSignature(t, "primary key", doc, signed(t, e.PrivateKey), keys, today, nil)
	wantSignature(t, "subkey for encryption", doc, signed(t, e.Subkeys[0].PrivateKey), keys, today, verify.ErrUnknownKey)
}

func TestAlgorithms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]packet.Config{
		"Ed25519 (version 6)": {V6Keys: true, Algorithm: packet.PubKeyAlgoEd25519},
		"Ed25519 (version 4)": {Algorithm: packet.PubKeyAlgoEdDSA},
		"Ed448":               {Algorithm: packet.PubKeyAlgoEd448, V6Keys: true},
		"ECDSA P-384":         {Algorithm: packet.PubKeyAlgoECDSA, Curve: packet.CurveNistP384},
		"ECDSA Brainpool":     {Algorithm: packet.PubKeyAlgoECDSA, Curve: packet.CurveBrainpoolP256},
		"RSA":                 {Algorithm: packet.PubKeyAlgoRSA, RSABits: 2048},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(c)
			cfg.DefaultHash = crypto.SHA512
			e := entity(t, "signer", cfg)
			key := public(t, e)
			var sig bytes.Buffer
			must.Do(t, openpgp.DetachSign(&sig, []*openpgp.Entity{e}, bytes.NewReader(doc), cfg))
			got := must.Get(verify.CheckSignature(doc, sig.Bytes(), []verify.Key{key}, date("2024-06-01")))(t)
			infos, err := key.Info()
			if err != nil || infos[0].Fingerprint != got.Fingerprint || infos[0].ID != got.KeyID {
				t.Errorf("%+v, %v, signature %+v", infos, err, got)
			}
			pinned := verify.Policy{Fingerprints: must.Get(verify.ParseFingerprints(got.Fingerprint))(t), Now: func() time.Time { return date("2024-06-01") }}
			if _, err := pinned.CheckSums(verify.Evidence{Sums: doc, Signature: sig.Bytes(), Keys: []verify.Key{key}}); errors.Is(err, verify.ErrUnknownKey) {
				t.Error(err)
			}
		})
	}
}

// A key with a signing subkey of somebody else must not take the credit for what
// that subkey signs.
func TestForeignSubkey(t *testing.T) {
	t.Parallel()
	victim, own := withSubkey(t, "victim")
	thief := entity(t, "thief", cfg)
	sig := signed(t, own.PrivateKey)
	wantSignature(t, "the victim's own signature", doc, sig, []verify.Key{public(t, victim)}, today, nil)
	for name, cross := range map[string]*packet.Signature{
		"without cross-signature":           nil,
		"with the victim's cross-signature": own.Bindings[0].Packet.EmbeddedSignature,
	} {
		binding := &packet.Signature{
			Version: 4, SigType: packet.SigTypeSubkeyBinding, PubKeyAlgo: thief.PrimaryKey.PubKeyAlgo, Hash: crypto.SHA256,
			CreationTime: date("2024-01-02"), IssuerKeyId: &thief.PrimaryKey.KeyId, FlagsValid: true, FlagSign: true, EmbeddedSignature: cross,
		}
		must.Do(t, binding.SignKey(own.PublicKey, thief.PrivateKey, cfg))
		stolen := *thief
		stolen.Subkeys = []openpgp.Subkey{{Primary: &stolen, PublicKey: own.PublicKey, Bindings: []*packet.VerifiableSignature{packet.NewVerifiableSig(binding)}}}
		wantSignature(t, name, doc, sig, []verify.Key{public(t, &stolen)}, today, verify.ErrUnknownKey)
	}
}

// A weak primary key makes weak what it vouches for, also a strong subkey.
func TestWeakPrimaryKey(t *testing.T) {
	t.Parallel()
	e := entity(t, "signer", config(packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 1024}))
	must.Do(t, e.AddSigningSubkey(cfg))
	sig := signed(t, e.Subkeys[len(e.Subkeys)-1].PrivateKey)
	if _, err := verify.CheckSignature(doc, sig, []verify.Key{public(t, e)}, today); !errors.Is(err, verify.ErrWeak) || !strings.Contains(err.Error(), "RSA key of 1024 bits") {
		t.Errorf("error %v, want ErrWeak", err)
	}
}

// The size of an RSA key is that of its modulus, whatever zeros the key writes before it.
func TestPaddedModulus(t *testing.T) {
	t.Parallel()
	private := must.Get(rsa.GenerateKey(rand.Reader, 1024))(t)
	body := []byte{4, 0, 0, 0, 0, byte(packet.PubKeyAlgoRSA)}
	binary.BigEndian.PutUint32(body[1:], uint32(date("2024-01-01").Unix()))
	body = append(body, 2048>>8, 2048&0xff)
	body = append(body, private.N.FillBytes(make([]byte, 2048/8))...)
	body = append(body, 0, 17, 1, 0, 1) // the exponent, 65537
	key := must.Get(packet.Read(bytes.NewReader(framed(6, body))))(t).(*packet.PublicKey)
	if bits, err := key.BitLength(); bits != 2048 || err != nil {
		t.Fatalf("the key states %d bits, %v", bits, err)
	}
	signer := &packet.PrivateKey{PublicKey: *key, PrivateKey: private}
	id := packet.NewUserId("padded", "", "padded@example.com")
	self := packet.Signature{SigType: packet.SigTypeGenericCert, PubKeyAlgo: key.PubKeyAlgo, Hash: crypto.SHA256, CreationTime: date("2024-01-01"), IssuerKeyId: &key.KeyId}
	must.Do(t, self.SignUserId(id.Id, key, signer, cfg))
	listed := verify.Key{Armor: armored(t, openpgp.PublicKeyType, func(b *bytes.Buffer) error {
		return errors.Join(key.Serialize(b), id.Serialize(b), self.Serialize(b))
	})}
	sig := signed(t, signer)
	if _, err := verify.CheckSignature(doc, sig, []verify.Key{listed}, today); !errors.Is(err, verify.ErrWeak) || !strings.Contains(err.Error(), "RSA key of 1024 bits") {
		t.Errorf("error %v, want ErrWeak", err)
	}
	if infos, err := listed.Info(); err != nil || infos[0].Algorithm != "RSA 1024" {
		t.Errorf("%+v, %v", infos, err)
	}
}

// A private subkey is refused as well, also below a primary key that is public.
func TestPrivateSubkey(t *testing.T) {
	t.Parallel()
	e, added := withSubkey(t, "signer")
	sub := *added
	e.Subkeys = nil
	key := verify.Key{Armor: armored(t, openpgp.PublicKeyType, func(b *bytes.Buffer) error {
		return errors.Join(e.Serialize(b), sub.PrivateKey.Serialize(b), sub.Bindings[0].Packet.Serialize(b))
	})}
	if _, err := key.Info(); !errors.Is(err, verify.ErrBadKey) || !strings.Contains(err.Error(), "private key") {
		t.Errorf("error %v, want ErrBadKey", err)
	}
}

// Keys may sign only if they say so, or have no flags.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, flags := range []bool{true, false} {
		e := entity(t, "signer", cfg)
		for _, id := range e.Identities {
			self := id.SelfCertifications[0].Packet
			self.FlagSign, self.FlagsValid = false, flags
			must.Do(t, self.SignUserId(id.Name, e.PrimaryKey, e.PrivateKey, cfg))
		}
		sig := signed(t, e.PrivateKey)
		_, err := verify.CheckSignature(doc, sig, []verify.Key{public(t, e)}, today)
		if refused := errors.Is(err, verify.ErrUnknownKey) && strings.Contains(err.Error(), "may not sign"); refused != flags || !refused && err != nil {
			t.Errorf("a key with flags, %v, but not to sign: %v", flags, err)
		}
	}
}

// A key without a valid self-signature is nobody's.
func TestSelfSignature(t *testing.T) {
	t.Parallel()
	e, other := entity(t, "signer", cfg), entity(t, "other", cfg)
	sig := signed(t, e.PrivateKey)
	// Another key signs, and says that it is this one.
	forger := *other.PrivateKey
	forger.Fingerprint, forger.KeyId = e.PrimaryKey.Fingerprint, e.PrimaryKey.KeyId
	for _, id := range e.Identities {
		must.Do(t, id.SelfCertifications[0].Packet.SignUserId(id.Name, e.PrimaryKey, &forger, cfg))
	}
	key := public(t, e)
	_, err := verify.CheckSignature(doc, sig, []verify.Key{key}, today)
	if !errors.Is(err, verify.ErrUnknownKey) || !strings.Contains(err.Error(), "no valid self-signature") {
		t.Errorf("error %v, want ErrUnknownKey", err)
	}
	if _, err := key.Info(); !errors.Is(err, verify.ErrBadKey) {
		t.Errorf("Info: error %v, want ErrBadKey", err)
	}
}

func TestSignatureKinds(t *testing.T) {
	t.Parallel()
	e := entity(t, "signer", cfg)
	key := public(t, e)
	for name, tt := range map[string]struct {
		typ  packet.SignatureType
		hash crypto.Hash
		at   time.Time
		want error
	}{
		"good":                      {packet.SigTypeBinary, crypto.SHA256, date("2024-02-01"), nil},
		"SHA-384":                   {packet.SigTypeBinary, crypto.SHA384, date("2024-02-01"), nil},
		"SHA3-256":                  {packet.SigTypeBinary, crypto.SHA3_256, date("2024-02-01"), nil},
		"SHA-224":                   {packet.SigTypeBinary, crypto.SHA224, date("2024-02-01"), verify.ErrWeak},
		"not of a document":         {packet.SigTypeGenericCert, crypto.SHA256, date("2024-02-01"), verify.ErrBadSignature},
		"older than the key":        {packet.SigTypeBinary, crypto.SHA256, date("2023-12-31"), verify.ErrBadSignature},
		"older by five minutes":     {packet.SigTypeBinary, crypto.SHA256, date("2024-01-01").Add(-5 * time.Minute), nil},
		"a minute from the future":  {packet.SigTypeBinary, crypto.SHA256, today.Add(time.Minute), nil},
		"an hour from the future":   {packet.SigTypeBinary, crypto.SHA256, today.Add(time.Hour), verify.ErrFuture},
		"a century from the future": {packet.SigTypeBinary, crypto.SHA256, today.AddDate(75, 0, 0), verify.ErrFuture},
	} {
		sig := sign(t, doc, e.PrivateKey, tt.typ, tt.hash, tt.at)
		wantSignature(t, name, doc, sig, []verify.Key{key}, today, tt.want)
	}
}

// A key that has several names goes by the primary one, in whatever order they
// come, and not by one that was revoked.
func TestUserIDs(t *testing.T) {
	t.Parallel()
	e := entity(t, "first", cfg)
	must.Do(t, e.AddUserId("second", "", "second@example.com", cfg))
	sig := signed(t, e.PrivateKey)
	var seen []string
	for range 20 {
		got := must.Get(verify.CheckSignature(doc, sig, []verify.Key{public(t, e)}, today))(t)
		seen = append(seen, got.UserID)
	}
	slices.Sort(seen)
	if seen = slices.Compact(seen); len(seen) != 1 || seen[0] != "first <first@example.com>" {
		t.Errorf("goes by %q", seen)
	}
	infos, err := public(t, e).Info()
	if err != nil || fmt.Sprint(infos[0].UserIDs) != "[first <first@example.com> second <second@example.com>]" {
		t.Errorf("%+v, %v", infos, err)
	}
	for _, id := range e.Identities {
		revocation := &packet.Signature{
			Version: 4, SigType: packet.SigTypeCertificationRevocation, PubKeyAlgo: e.PrimaryKey.PubKeyAlgo, Hash: crypto.SHA256,
			CreationTime: date("2024-03-01"), IssuerKeyId: &e.PrimaryKey.KeyId,
		}
		must.Do(t, revocation.SignUserId(id.Name, e.PrimaryKey, e.PrivateKey, cfg))
		id.Revocations = append(id.Revocations, packet.NewVerifiableSig(revocation))
	}
	wantSignature(t, "all names revoked", doc, sig, []verify.Key{public(t, e)}, today, verify.ErrRevoked)
	infos, err = public(t, e).Info()
	if err != nil || !infos[0].Revoked {
		t.Errorf("all names revoked: %+v, %v", infos, err)
	}
}

// What a hostile registry can make a check cost is bounded.
func TestCostOfKeys(t *testing.T) {
	t.Parallel()
	e := entity(t, "signer", cfg)
	sig := signed(t, e.PrivateKey)
	var id *openpgp.Identity
	for _, id = range e.Identities {
	}
	own := id.SelfCertifications[0]
	others := e.Subkeys[0].Bindings
	for n, want := range map[int]error{499 - len(others): nil, 500 - len(others): failure.ErrTooLarge} {
		id.SelfCertifications = slices.Repeat([]*packet.VerifiableSignature{own}, n)
		key := public(t, e)
		wantSignature(t, fmt.Sprintf("%d self-signatures", n), doc, sig, []verify.Key{key}, today, want)
		if _, err := key.Info(); !errors.Is(err, want) {
			t.Errorf("%d self-signatures: Info: error %v, want %v", n, err, want)
		}
	}

	for name, key := range map[string]*packet.PublicKey{
		"RSA": packet.NewRSAPublicKey(date("2024-01-01"), &rsa.PublicKey{N: odd(8193), E: 65537}),
		"DSA": packet.NewDSAPublicKey(date("2024-01-01"), &dsa.PublicKey{Parameters: dsa.Parameters{P: odd(2048), Q: odd(264), G: odd(3)}, Y: odd(2047)}),
	} {
		// A self-signature that says it is by that key; nobody gets as far as to see
		// that it is not.
		forger := *e.PrivateKey
		forger.Fingerprint, forger.KeyId = key.Fingerprint, key.KeyId
		forged := packet.Signature{SigType: packet.SigTypeGenericCert, PubKeyAlgo: forger.PubKeyAlgo, Hash: crypto.SHA256, CreationTime: date("2024-01-01"), IssuerKeyId: &key.KeyId}
		must.Do(t, forged.SignUserId(id.Name, key, &forger, cfg))
		certificate := armored(t, openpgp.PublicKeyType, func(b *bytes.Buffer) error {
			return errors.Join(key.Serialize(b), id.UserId.Serialize(b), forged.Serialize(b))
		})
		if _, err := (verify.Key{Armor: certificate}).Info(); !errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("%s: Info: error %v, want ErrTooLarge", name, err)
		}
	}
}

// odd returns an odd number of n bits.
func odd(n uint) *big.Int { return new(big.Int).SetBit(big.NewInt(1), int(n)-1, 1) }

// Attacks by an attacker who has a valid signature of a publisher, or who serves the keys.

// framed returns a packet with a new-format header and a five-byte length.
func framed(tag byte, body []byte) []byte {
	n := len(body)
	return append([]byte{0xc0 | tag, 255, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, body...)
}

// TestFrames: the packet format and other packets do not change what is signed.
func TestFrames(t *testing.T) {
	t.Parallel()
	doc, sig, keys := gpgFile(t, "SHA256SUMS"), gpgFile(t, "ed25519.sig"), gpgKeys(t, "ed25519")
	body := must.Get(packet.NewOpaqueReader(bytes.NewReader(sig)).Next())(t).Contents
	partial := slices.Concat([]byte{0xc2, 0xe0 | 6}, body[:64], []byte{byte(len(body) - 64)}, body[64:])
	junk := framed(2, []byte("\x03 no signature of a known version"))
	literal := framed(11, append([]byte("b\x00\x00\x00\x00\x00"), doc...))
	compressed := framed(8, append([]byte{0}, sig...)) // algorithm 0: not compressed
	onePass := framed(4, []byte("\x03\x00\x08\x16\x00\x00\x00\x00\x00\x00\x00\x00\x01"))
	v := func(version byte) []byte {
		b := bytes.Clone(body)
		b[0] = version
		return framed(2, b)
	}
	for name, tt := range map[string]struct {
		sig  []byte
		want error
	}{
		"five-byte length":           {framed(2, body), nil},
		"old form":                   {append([]byte{0x88, byte(len(body))}, body...), nil},
		"old form without an end":    {append([]byte{0x8b}, body...), nil},
		"in parts":                   {partial, nil},
		"fifteen bad ones before it": {append(bytes.Repeat(junk, 15), sig...), nil},
		"fifteen bad ones after it":  {append(bytes.Clone(sig), bytes.Repeat(junk, 15)...), nil},
		"sixteen bad ones before it": {append(bytes.Repeat(junk, 16), sig...), failure.ErrTooLarge},
		"message after it":           {slices.Concat(sig, literal), nil},
		"garbage after it":           {append(bytes.Clone(sig), "garbage"...), nil},

		"bad ones only":          {bytes.Repeat(junk, 16), verify.ErrBadSignature},
		"message before it":      {slices.Concat(literal, sig), verify.ErrBadSignature},
		"one-pass message":       {slices.Concat(onePass, literal, sig), verify.ErrBadSignature},
		"compressed":             {compressed, verify.ErrBadSignature},
		"marker before it":       {slices.Concat(framed(10, []byte("PGP")), sig), verify.ErrBadSignature},
		"version 2":              {v(2), verify.ErrBadSignature},
		"version 3":              {v(3), verify.ErrBadSignature},
		"version 5":              {v(5), verify.ErrBadSignature},
		"version 6":              {v(6), verify.ErrBadSignature},
		"length beyond the end":  {append([]byte{0xc2, 191}, body...), verify.ErrBadSignature},
		"length of four GiB":     {append([]byte{0xc2, 255, 255, 255, 255, 255}, body...), verify.ErrBadSignature},
		"cut":                    {sig[:len(sig)-1], verify.ErrBadSignature},
		"nothing but the header": {[]byte{0xc2, 0}, verify.ErrBadSignature},
	} {
		got, err := verify.CheckSignature(doc, tt.sig, keys, today)
		if !errors.Is(err, tt.want) || (err == nil) == (got == nil) {
			t.Errorf("%s: error %v, want %v", name, err, tt.want)
		}
		if _, err := verify.CheckSignature(append(bytes.Clone(doc), '\n'), tt.sig, keys, today); err == nil {
			t.Errorf("%s: a signature of another document", name)
		}
	}
}

// TestSignatureTypes: only signatures of documents are accepted.
func TestSignatureTypes(t *testing.T) {
	t.Parallel()
	doc := []byte("line\nline\n")
	e := entity(t, "signer", cfg)
	keys := []verify.Key{public(t, e)}
	for typ := range 256 {
		sig := sign(t, doc, e.PrivateKey, packet.SignatureType(typ), crypto.SHA256, date("2024-02-01"))
		_, err := verify.CheckSignature(doc, sig, keys, today)
		if typ == int(packet.SigTypeBinary) {
			if err != nil {
				t.Error(err)
			}
		} else if !errors.Is(err, verify.ErrBadSignature) { // a text signature needs CRLF in the hash
			t.Errorf("type %#x: error %v, want ErrBadSignature", typ, err)
		}
	}
	text := sign(t, []byte("line\r\nline\r\n"), e.PrivateKey, packet.SigTypeText, crypto.SHA256, date("2024-02-01"))
	for _, same := range []string{"line\nline\n", "line\r\nline\r\n", "line\r\nline\n"} {
		if _, err := verify.CheckSignature([]byte(same), text, keys, today); err != nil {
			t.Errorf("%q: %v", same, err)
		}
	}
	for _, other := range []string{"line\rline\n", "line \nline\n", "line\nline", "line\nline\n\n", "line\r\r\nline\n", "lineline\n"} {
		wantSignature(t, fmt.Sprintf("%q", other), []byte(other), text, keys, today, verify.ErrBadSignature)
	}
}

// TestRevokedCopies: a key is revoked if one copy is, even if that copy lacks the signing
// subkey or a valid name.
func TestRevokedCopies(t *testing.T) {
	t.Parallel()
	full, sub := withSubkey(t, "owner")
	listed := public(t, full)
	bySub, byPrimary := signed(t, sub.PrivateKey), signed(t, full.PrivateKey)

	revoked := *full
	must.Do(t, revoked.Revoke(packet.KeyCompromised, "", cfg))
	withoutSubkeys := revoked
	withoutSubkeys.Subkeys = nil
	// Another key signed the name: the copy is invalid, its revocation is valid.
	nameless := withoutSubkeys
	other := *entity(t, "other", cfg).PrivateKey
	other.Fingerprint, other.KeyId = full.PrimaryKey.Fingerprint, full.PrimaryKey.KeyId
	nameless.Identities = map[string]*openpgp.Identity{}
	for name, id := range full.Identities {
		self := *id.SelfCertifications[0].Packet
		must.Do(t, self.SignUserId(name, full.PrimaryKey, &other, cfg))
		nameless.Identities[name] = &openpgp.Identity{
			Primary: &nameless, Name: name, UserId: id.UserId, SelfCertifications: []*packet.VerifiableSignature{packet.NewVerifiableSig(&self)},
		}
	}
	// Revocations by other keys have no effect.
	forged := *full
	stranger := entity(t, "stranger", cfg)
	must.Do(t, stranger.Revoke(packet.KeyCompromised, "", cfg))
	forged.Revocations = stranger.Revocations

	for name, c := range map[string]struct {
		key  verify.Key
		want error
	}{
		"full":             {public(t, &revoked), verify.ErrRevoked},
		"without subkeys":  {public(t, &withoutSubkeys), verify.ErrRevoked},
		"without a name":   {public(t, &nameless), verify.ErrRevoked},
		"revoked by other": {public(t, &forged), nil},
	} {
		for signer, sig := range map[string][]byte{"subkey": bySub, "primary": byPrimary} {
			for order, keys := range map[string][]verify.Key{
				"first": {c.key, listed}, "second": {listed, c.key}, "in one block": {{Armor: c.key.Armor + listed.Armor}},
			} {
				wantSignature(t, fmt.Sprintf("%s, %s signed, copy %s", name, signer, order), doc, sig, keys, today, c.want)
			}
		}
	}
	retired := *full
	must.Do(t, retired.Revoke(packet.KeySuperseded, "", config(packet.Config{Time: func() time.Time { return date("2024-03-01") }})))
	if got, err := verify.CheckSignature(doc, byPrimary, []verify.Key{listed, public(t, &retired)}, today); err != nil || !got.KeyRetired {
		t.Errorf("copy retired later: %+v, %v, want KeyRetired", got, err)
	}
}

// TestGoodSignatureBesideRevoked: one valid signature suffices beside one by a revoked subkey
// of the same owner.
func TestGoodSignatureBesideRevoked(t *testing.T) {
	t.Parallel()
	e, sub := withSubkey(t, "owner")
	must.Do(t, sub.Revoke(packet.KeyCompromised, "", cfg))
	bySub, byPrimary := signed(t, sub.PrivateKey), signed(t, e.PrivateKey)
	wantSignature(t, "the subkey's alone", doc, bySub, []verify.Key{public(t, e)}, today, verify.ErrRevoked)
	for _, sig := range [][]byte{slices.Concat(bySub, byPrimary), slices.Concat(byPrimary, bySub)} {
		got, err := verify.CheckSignature(doc, sig, []verify.Key{public(t, e)}, today)
		if err != nil || got.Subkey != "" {
			t.Errorf("both: %+v, %v", got, err)
		}
	}
}

// TestCriticalNotations: unknown critical notations invalidate self-signatures.
func TestCriticalNotations(t *testing.T) {
	t.Parallel()
	notation := []*packet.Notation{{Name: "unknown@example.com", Value: []byte("x"), IsHumanReadable: true, IsCritical: true}}
	e := entity(t, "owner", cfg)
	sig := signed(t, e.PrivateKey)
	for name, id := range e.Identities {
		self := id.SelfCertifications[0].Packet
		self.Notations = notation
		must.Do(t, self.SignUserId(name, e.PrimaryKey, e.PrivateKey, cfg))
	}
	wantSignature(t, "in the self-signature", doc, sig, []verify.Key{public(t, e)}, today, verify.ErrUnknownKey)

	e, sub := withSubkey(t, "owner")
	sig = signed(t, sub.PrivateKey)
	embedded := sub.Bindings[0].Packet.EmbeddedSignature
	day := uint32(24 * 60 * 60)
	for _, tt := range []struct {
		name      string
		notations []*packet.Notation
		lifetime  *uint32
		want      error
	}{
		{"signature of the subkey", nil, nil, nil},
		{"signature of the subkey, critical notation", notation, nil, verify.ErrUnknownKey},
		{"signature of the subkey, expired", nil, &day, verify.ErrExpired},
	} {
		embedded.Notations, embedded.SigLifetimeSecs = tt.notations, tt.lifetime
		must.Do(t, embedded.CrossSignKey(sub.PublicKey, e.PrimaryKey, sub.PrivateKey, cfg))
		must.Do(t, sub.Bindings[0].Packet.SignKey(sub.PublicKey, e.PrivateKey, cfg))
		wantSignature(t, tt.name, doc, sig, []verify.Key{public(t, e)}, today, tt.want)
	}
}

// TestCostOfCurves: signatures on slow curves and of large keys count several times, and the cost
// of Info does not grow with the number of keys.
func TestCostOfCurves(t *testing.T) {
	t.Parallel()
	atLimit := func(name string, n int, sig []byte, at time.Time, key func(n int) verify.Key) {
		for n, want := range map[int]error{n: nil, n + 1: failure.ErrTooLarge} {
			_, err := verify.CheckSignature(doc, sig, []verify.Key{key(n)}, at)
			if tooLarge := errors.Is(err, failure.ErrTooLarge); tooLarge != (want != nil) {
				t.Errorf("%s, %d self-signatures: CheckSignature returned %v, want %v", name, n, err, want)
			}
			if _, err := key(n).Info(); !errors.Is(err, want) {
				t.Errorf("%s, %d self-signatures: Info returned %v, want %v", name, n, err, want)
			}
			if _, err := (verify.Key{Armor: key(n).Armor + key(n).Armor}).Info(); !errors.Is(err, failure.ErrTooLarge) {
				t.Errorf("%s, twice %d self-signatures: Info returned %v, want ErrTooLarge", name, n, err)
			}
		}
	}
	for curve, n := range map[packet.Curve]int{
		packet.CurveNistP256: 499, packet.CurveNistP521: 124, packet.CurveBrainpoolP256: 49, packet.CurveBrainpoolP384: 24, packet.CurveBrainpoolP512: 11,
	} {
		e := entity(t, "signer", config(packet.Config{Algorithm: packet.PubKeyAlgoECDSA, Curve: curve, DefaultHash: crypto.SHA512}))
		e.Subkeys = nil
		atLimit(string(curve), n, signed(t, e.PrivateKey), today, func(n int) verify.Key {
			for _, id := range e.Identities {
				id.SelfCertifications = slices.Repeat(id.SelfCertifications[:1], n)
			}
			return public(t, e)
		})
	}
	for name, n := range map[string]int{"rsa2048": 499, "rsa4096": 249, "dsa": 249} {
		block := must.Get(armor.Decode(strings.NewReader(gpgKey(t, name).Armor)))(t)
		packets := split(t, must.Get(io.ReadAll(block.Body))(t))
		atLimit(name, n, gpgFile(t, name+".sig"), time.Time{}, func(n int) verify.Key {
			return armoredPackets(slices.Concat(packets[:2]...), bytes.Repeat(packets[2], n))
		})
	}
}

// TestCostOfSubkeys: a subkey counts even without a signature, and one in a binding counts too.
func TestCostOfSubkeys(t *testing.T) {
	t.Parallel()
	e, sub := withSubkey(t, "signer")
	sub.Bindings = sub.Bindings[:1]
	packets := split(t, publicPackets(t, e))
	whole := slices.Concat(packets[:3]...)
	for name, tt := range map[string]struct {
		n int
		p []byte
	}{
		"subkeys":  {498, packets[3]},
		"bindings": {249, slices.Concat(packets[5:]...)},
	} {
		for n, want := range map[int]error{tt.n: nil, tt.n + 1: failure.ErrTooLarge} {
			if _, err := armoredPackets(whole, bytes.Repeat(tt.p, n)).Info(); !errors.Is(err, want) {
				t.Errorf("%d %s: Info returned %v, want %v", n, name, err, want)
			}
		}
	}
}

// TestCostOfDocuments: a large document counts like signatures, for each signature of it.
func TestCostOfDocuments(t *testing.T) {
	t.Parallel()
	e := entity(t, "signer", cfg)
	e.Subkeys = nil
	large := make([]byte, scheme.MaxSums)
	sig := bytes.Repeat(sign(t, large, e.PrivateKey, packet.SigTypeBinary, crypto.SHA256, date("2024-02-01")), 9)
	keys := []verify.Key{public(t, e), public(t, e), public(t, e), public(t, e)}
	wantSignature(t, "27 signatures of a MiB", large, sig, keys[:3], today, nil)
	wantSignature(t, "36 signatures of a MiB", large, sig, keys, today, failure.ErrTooLarge)
}

// TestMemoryOfKeys: the memory to read keys is limited for all keys of a call together.
func TestMemoryOfKeys(t *testing.T) {
	t.Parallel()
	e := entity(t, "signer", cfg)
	sig, listed := signed(t, e.PrivateKey), public(t, e)
	whole := publicPackets(t, e)
	large := func(names int) verify.Key {
		return armoredPackets(whole, bytes.Repeat([]byte{0xc0 | userIDType, 1, 'x'}, names))
	}
	if _, err := large(11_000).Info(); err != nil {
		t.Errorf("11000 user IDs: Info returned %v", err)
	}
	if _, err := large(13_000).Info(); !errors.Is(err, failure.ErrTooLarge) || !errors.Is(err, verify.ErrBadKey) {
		t.Errorf("13000 user IDs: Info returned %v, want ErrTooLarge", err)
	}
	wantSignature(t, "one large key", doc, sig, []verify.Key{listed, large(11_000)}, today, nil)
	wantSignature(t, "two large keys", doc, sig, []verify.Key{listed, large(7_000), large(7_000)}, today, failure.ErrTooLarge)
}

// publicPackets returns the packets of the public key.
func publicPackets(t testing.TB, e *openpgp.Entity) []byte {
	t.Helper()
	return written(t, func(b *bytes.Buffer) error { return e.Serialize(b) })
}

func TestNumberOfCertificates(t *testing.T) {
	t.Parallel()
	doc, sig := gpgFile(t, "SHA256SUMS"), gpgFile(t, "ed25519.sig")
	other, signer := gpgKey(t, "ecdsa").Armor, gpgKey(t, "ed25519").Armor
	for n, want := range map[int]error{999: nil, 1000: failure.ErrTooLarge} {
		keys := []verify.Key{{Armor: strings.Repeat(other, n/2)}, {Armor: strings.Repeat(other, n-n/2)}, {Armor: signer}}
		wantSignature(t, fmt.Sprintf("%d and one", n), doc, sig, keys, today, want)
	}
}

// TestNamelessKey: the library cannot read version 4 keys without names, and the error says
// so.
func TestNamelessKey(t *testing.T) {
	t.Parallel()
	e := entity(t, "owner", cfg)
	sig := signed(t, e.PrivateKey)
	e.Identities = nil
	key := public(t, e)
	if _, err := verify.CheckSignature(doc, sig, []verify.Key{key}, today); !errors.Is(err, verify.ErrUnknownKey) || !errors.Is(err, verify.ErrBadKey) {
		t.Errorf("error %v, want ErrUnknownKey and ErrBadKey", err)
	}
}

// TestSignatureSubpacketsMemory: a signature of 12 bytes that states 4 GiB of subpackets takes no memory.
// Older versions of go-crypto than 1.5.1 allocate the 4 GiB. The test measures, so it is not parallel.
func TestSignatureSubpacketsMemory(t *testing.T) {
	key := gpgKey(t, "ed25519")
	sig := []byte{0xc2, 10, 6, 0, 27, 8, 0xff, 0xff, 0xff, 0xff, 0, 0} // version 6, Ed25519, SHA-256
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := verify.CheckSignature([]byte("x"), sig, []verify.Key{key}, time.Now())
	runtime.ReadMemStats(&after)
	if err == nil {
		t.Error("CheckSignature accepted a cut signature")
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("CheckSignature allocated %d bytes for a signature of %d bytes, want less than 64 MiB", used, len(sig))
	}
}
