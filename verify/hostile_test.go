package verify_test

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/verify"
)

// Attacks by an attacker who has a valid signature of a publisher, or who serves the keys.

// content returns the content of the first packet of data.
func content(t testing.TB, data []byte) []byte {
	t.Helper()
	p, err := packet.NewOpaqueReader(bytes.NewReader(data)).Next()
	must(t, err)
	return p.Contents
}

// framed returns a packet with a new-format header and a five-byte length.
func framed(tag byte, body []byte) []byte {
	n := len(body)
	return append([]byte{0xc0 | tag, 255, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, body...)
}

// TestFrames: the packet format and other packets do not change what is signed.
func TestFrames(t *testing.T) {
	t.Parallel()
	doc, sig, keys := gpgFile(t, "SHA256SUMS"), gpgFile(t, "ed25519.sig"), gpgKeys(t, "ed25519")
	body := content(t, sig)
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
	e := entity(t, "signer", config(packet.Config{}))
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
	cfg := config(packet.Config{})
	doc := []byte("document")
	full := entity(t, "owner", cfg)
	must(t, full.AddSigningSubkey(cfg))
	listed := public(t, full)
	sub := full.Subkeys[len(full.Subkeys)-1].PrivateKey
	bySub := sign(t, doc, sub, packet.SigTypeBinary, crypto.SHA256, date("2024-02-01"))
	byPrimary := sign(t, doc, full.PrivateKey, packet.SigTypeBinary, crypto.SHA256, date("2024-02-01"))

	revoked := *full
	must(t, revoked.Revoke(packet.KeyCompromised, "", cfg))
	withoutSubkeys := revoked
	withoutSubkeys.Subkeys = nil
	// Another key signed the name: the copy is invalid, its revocation is valid.
	nameless := withoutSubkeys
	other := *entity(t, "other", cfg).PrivateKey
	other.Fingerprint, other.KeyId = full.PrimaryKey.Fingerprint, full.PrimaryKey.KeyId
	nameless.Identities = map[string]*openpgp.Identity{}
	for name, id := range full.Identities {
		self := *id.SelfCertifications[0].Packet
		must(t, self.SignUserId(name, full.PrimaryKey, &other, cfg))
		nameless.Identities[name] = &openpgp.Identity{
			Primary: &nameless, Name: name, UserId: id.UserId, SelfCertifications: []*packet.VerifiableSignature{packet.NewVerifiableSig(&self)},
		}
	}
	// Revocations by other keys have no effect.
	forged := *full
	stranger := entity(t, "stranger", cfg)
	must(t, stranger.Revoke(packet.KeyCompromised, "", cfg))
	forged.Revocations = stranger.Revocations

	copies := map[string]struct {
		key  verify.Key
		want error
	}{
		"full":             {public(t, &revoked), verify.ErrRevoked},
		"without subkeys":  {public(t, &withoutSubkeys), verify.ErrRevoked},
		"without a name":   {public(t, &nameless), verify.ErrRevoked},
		"revoked by other": {public(t, &forged), nil},
	}
	for name, c := range copies {
		for signer, sig := range map[string][]byte{"subkey": bySub, "primary": byPrimary} {
			for order, keys := range map[string][]verify.Key{
				"first": {c.key, listed}, "second": {listed, c.key}, "in one block": {{Armor: c.key.Armor + listed.Armor}},
			} {
				wantSignature(t, fmt.Sprintf("%s, %s signed, copy %s", name, signer, order), doc, sig, keys, today, c.want)
			}
		}
	}
	retired := *full
	must(t, retired.Revoke(packet.KeySuperseded, "", config(packet.Config{Time: func() time.Time { return date("2024-03-01") }})))
	if got, err := verify.CheckSignature(doc, byPrimary, []verify.Key{listed, public(t, &retired)}, today); err != nil || !got.KeyRetired {
		t.Errorf("copy retired later: %+v, %v, want KeyRetired", got, err)
	}
}

// TestGoodSignatureBesideRevoked: one valid signature suffices beside one by a revoked subkey
// of the same owner.
func TestGoodSignatureBesideRevoked(t *testing.T) {
	t.Parallel()
	cfg := config(packet.Config{})
	doc := []byte("document")
	e := entity(t, "owner", cfg)
	must(t, e.AddSigningSubkey(cfg))
	sub := &e.Subkeys[len(e.Subkeys)-1]
	must(t, sub.Revoke(packet.KeyCompromised, "", cfg))
	bySub := sign(t, doc, sub.PrivateKey, packet.SigTypeBinary, crypto.SHA256, date("2024-02-01"))
	byPrimary := sign(t, doc, e.PrivateKey, packet.SigTypeBinary, crypto.SHA256, date("2024-02-01"))
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
	cfg := config(packet.Config{})
	doc := []byte("document")
	notation := []*packet.Notation{{Name: "unknown@example.com", Value: []byte("x"), IsHumanReadable: true, IsCritical: true}}
	e := entity(t, "owner", cfg)
	sig := sign(t, doc, e.PrivateKey, packet.SigTypeBinary, crypto.SHA256, date("2024-02-01"))
	for name, id := range e.Identities {
		self := id.SelfCertifications[0].Packet
		self.Notations = notation
		must(t, self.SignUserId(name, e.PrimaryKey, e.PrivateKey, cfg))
	}
	wantSignature(t, "in the self-signature", doc, sig, []verify.Key{public(t, e)}, today, verify.ErrUnknownKey)

	e = entity(t, "owner", cfg)
	must(t, e.AddSigningSubkey(cfg))
	sub := e.Subkeys[len(e.Subkeys)-1]
	sig = sign(t, doc, sub.PrivateKey, packet.SigTypeBinary, crypto.SHA256, date("2024-02-01"))
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
		must(t, embedded.CrossSignKey(sub.PublicKey, e.PrimaryKey, sub.PrivateKey, cfg))
		must(t, sub.Bindings[0].Packet.SignKey(sub.PublicKey, e.PrivateKey, cfg))
		wantSignature(t, tt.name, doc, sig, []verify.Key{public(t, e)}, today, tt.want)
	}
}

// TestCostOfCurves: signatures on slow curves count tenfold, and the cost of Info does not
// grow with the number of keys.
func TestCostOfCurves(t *testing.T) {
	t.Parallel()
	doc := []byte("document")
	cfg := config(packet.Config{Algorithm: packet.PubKeyAlgoECDSA, Curve: packet.CurveBrainpoolP256})
	e := entity(t, "slow", cfg)
	e.Subkeys = nil
	sig := sign(t, doc, e.PrivateKey, packet.SigTypeBinary, crypto.SHA256, date("2024-02-01"))
	for n, want := range map[int]error{49: nil, 50: failure.ErrTooLarge} {
		for _, id := range e.Identities {
			id.SelfCertifications = slices.Repeat(id.SelfCertifications[:1], n)
		}
		key := public(t, e)
		wantSignature(t, fmt.Sprintf("%d self-signatures", n), doc, sig, []verify.Key{key}, today, want)
		if _, err := key.Info(); !errors.Is(err, want) {
			t.Errorf("%d self-signatures: Info: error %v, want %v", n, err, want)
		}
		if _, err := (verify.Key{Armor: key.Armor + key.Armor}).Info(); !errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("twice %d self-signatures: Info: error %v, want ErrTooLarge", n, err)
		}
	}
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
	doc := []byte("document")
	e := entity(t, "owner", config(packet.Config{}))
	sig := sign(t, doc, e.PrivateKey, packet.SigTypeBinary, crypto.SHA256, date("2024-02-01"))
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
