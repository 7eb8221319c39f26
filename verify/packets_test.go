package verify_test

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"encoding/binary"
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
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify"
)

// Types of packets and subpackets that these tests make.
const (
	signatureType     = 2
	publicKeyType     = 6
	userIDType        = 13
	publicSubkeyType  = 14
	userAttributeType = 17

	creationTimeType      = 2
	embeddedSignatureType = 32
)

const (
	maxArmor = 1 << 20 // of a verify.Key
	maxUsed  = 32 << 20
)

// armoredPackets returns a key with these packets.
func armoredPackets(packets ...[]byte) verify.Key {
	data := slices.Concat(packets...)
	text := make([]byte, 0, len(data)/48*65+200)
	text = append(text, "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n"...)
	for line := range slices.Chunk(data, 72) {
		text = append(base64.StdEncoding.AppendEncode(text, line), '\n')
	}
	return verify.Key{Armor: string(append(text, "-----END PGP PUBLIC KEY BLOCK-----\n"...))}
}

// maxPackets is how many bytes of packets armoredPackets can put into a verify.Key.
const maxPackets = (maxArmor - 200) * 72 / 97

// filled returns the largest key that starts with the packets in first and goes on with as many copies of p.
func filled(p []byte, first ...[]byte) verify.Key {
	start := slices.Concat(first...)
	return armoredPackets(start, bytes.Repeat(p, (maxPackets-len(start))/len(p)))
}

// written returns what write writes.
func written(t testing.TB, write func(b *bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, write(&b))
	return b.Bytes()
}

// split returns the packets of data, with new headers.
func split(t testing.TB, data []byte) (list [][]byte) {
	t.Helper()
	for r := packet.NewOpaqueReader(bytes.NewReader(data)); ; {
		p, err := r.Next()
		if err != nil {
			return list
		}
		list = append(list, framed(p.Tag, p.Contents))
	}
}

// subpacket returns a subpacket of a signature.
func subpacket(typ byte, content []byte) []byte {
	n := len(content) + 1
	switch {
	case n < 192:
		return append([]byte{byte(n), typ}, content...)
	case n < 16320:
		return append([]byte{byte((n-192)>>8) + 192, byte(n - 192), typ}, content...)
	}
	return append([]byte{255, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n), typ}, content...)
}

var created = subpacket(creationTimeType, []byte{0x5e, 0x0b, 0xe1, 0})

// rawSignature returns the body of a signature with a short Ed25519 signature that verifies nothing.
func rawSignature(version, typ byte, hashed, unhashed []byte) []byte {
	const ed25519, eddsa, sha256 = 27, 22, 8
	hashed = append(bytes.Clone(created), hashed...)
	if version != 6 {
		b := []byte{version, typ, eddsa, sha256}
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(hashed))), hashed...)
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(unhashed))), unhashed...)
		return append(b, 0, 0, 0, 1, 1, 0, 1, 1)
	}
	b := []byte{version, typ, ed25519, sha256}
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(hashed))), hashed...)
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(unhashed))), unhashed...)
	b = append(b, 0, 0, 16)
	return append(b, make([]byte, 16+64)...)
}

// nested returns a signature of the given size and type with one within it, with one within it, and so
// on: the library calls itself for each.
func nested(version, typ byte, size int) []byte {
	sig := rawSignature(version, 0x19, nil, nil)
	for {
		next := rawSignature(version, typ, subpacket(embeddedSignatureType, sig), nil)
		if len(next) > size {
			return sig
		}
		sig = next
	}
}

// allocated returns the bytes that f allocates and the time that it takes. Callers must not be parallel.
func allocated(f func()) (int, time.Duration) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc), took
}

// TestEmbeddedSignatures: only the binding of a subkey may embed a signature, one of type 0x19
// without another one in it. A key with any other is refused; other keys of its block are not.
func TestEmbeddedSignatures(t *testing.T) {
	t.Parallel()
	e, other := entity(t, "signer", cfg), entity(t, "other", cfg)
	whole := publicPackets(t, e)
	beside := publicPackets(t, other)
	good := signed(t, e.PrivateKey)
	embed := func(sigs ...[]byte) (area []byte) {
		for _, sig := range sigs {
			area = append(area, subpacket(embeddedSignatureType, sig)...)
		}
		return area
	}
	agreed := rawSignature(4, 0x19, nil, nil)
	critical := embed(agreed)
	critical[1] |= 0x80
	for name, tt := range map[string]struct {
		typ     byte
		area    []byte
		refused bool
	}{
		"none":                        {0x18, nil, false},
		"one":                         {0x18, embed(agreed), false},
		"one, critical":               {0x18, critical, false},
		"one of version 6":            {0x18, embed(rawSignature(6, 0x19, nil, nil)), false},
		"one of version 3":            {0x18, embed([]byte{3, 0x19, 22, 8}), false}, // the library ignores it
		"two":                         {0x18, embed(agreed, agreed), true},
		"of a document":               {0x18, embed(rawSignature(4, 0x00, nil, nil)), true},
		"of a user ID":                {0x18, embed(rawSignature(4, 0x13, nil, nil)), true},
		"of a subkey":                 {0x18, embed(rawSignature(4, 0x18, nil, nil)), true},
		"one in one":                  {0x18, embed(rawSignature(4, 0x19, embed(agreed), nil)), true},
		"one in one, unhashed":        {0x18, embed(rawSignature(4, 0x19, nil, embed(agreed))), true},
		"one in one, critical":        {0x18, embed(rawSignature(4, 0x19, critical, nil)), true},
		"one of version 3 in one":     {0x18, embed(rawSignature(4, 0x19, embed([]byte{3}), nil)), true},
		"many in one another":         {0x18, embed(nested(4, 0x19, 5000)), true},
		"empty":                       {0x18, embed(nil), true},
		"cut":                         {0x18, embed(agreed[:10]), true},
		"in the signature of a user":  {0x13, embed(agreed), true},
		"in the signature of a key":   {0x1f, embed(agreed), true},
		"in a revocation":             {0x28, embed(agreed), true},
		"in the agreement itself":     {0x19, embed(agreed), true},
		"in a signature of documents": {0x00, embed(agreed), true},
	} {
		for version := range map[byte]bool{4: true, 6: true} {
			for where, raw := range map[string][]byte{
				"hashed": rawSignature(version, tt.typ, tt.area, nil), "unhashed": rawSignature(version, tt.typ, nil, tt.area),
			} {
				sig := framed(signatureType, raw)
				name := fmt.Sprintf("%s, version %d, %s", name, version, where)
				infos, err := armoredPackets(whole, sig).Info()
				if tt.refused != errors.Is(err, verify.ErrBadKey) || !tt.refused && len(infos) != 1 {
					t.Errorf("%s: Info returned %d keys, %v; want an error: %v", name, len(infos), err, tt.refused)
				}
				want := 2
				if tt.refused {
					want = 1
				}
				if infos, err := armoredPackets(whole, sig, beside).Info(); len(infos) != want {
					t.Errorf("%s: Info of it and another key returned %d keys, %v; want %d", name, len(infos), err, want)
				}
				keys := []verify.Key{public(t, e)}
				if tt.refused {
					wantSignature(t, name, doc, sig, keys, today, verify.ErrBadSignature)
				}
				wantSignature(t, name+", beside a good one", doc, append(sig, good...), keys, today, nil)
			}
		}
	}
}

// TestPacketLimits: the sizes of packets and of armor headers, at the limit and one byte beyond it.
func TestPacketLimits(t *testing.T) {
	t.Parallel()
	e := entity(t, "signer", cfg)
	whole := publicPackets(t, e)
	for name, tt := range map[string]struct {
		limit int
		key   func(n int) verify.Key
	}{
		"user ID": {2 << 10, func(n int) verify.Key { return armoredPackets(whole, framed(userIDType, make([]byte, n))) }},
		"subkey": {8 << 10, func(n int) verify.Key {
			return armoredPackets(whole, framed(publicSubkeyType, padded(split(t, whole)[0][6:], n)))
		}},
		"signature": {64 << 10, func(n int) verify.Key {
			return armoredPackets(whole, framed(signatureType, padded(rawSignature(4, 0x13, nil, nil), n)))
		}},
		"signature with another one": {64 << 10, func(n int) verify.Key {
			const around = 107 // bytes of the outer signature
			inner := padded(rawSignature(6, 0x19, nil, nil), n-around)
			return armoredPackets(whole, framed(signatureType, rawSignature(6, 0x18, subpacket(embeddedSignatureType, inner), nil)))
		}},
		"armor header": {4 << 10, func(n int) verify.Key {
			header := "\nComment: " + strings.Repeat("x", n-len("Comment: \n")) + "\n\n"
			return verify.Key{Armor: strings.Replace(armoredPackets(whole).Armor, "\n\n", header, 1)}
		}},
		"armor headers": {4 << 10, func(n int) verify.Key {
			header := strings.Repeat("\nComment:  ", n/11) + strings.Repeat(" ", n%11) + "\n\n"
			return verify.Key{Armor: strings.Replace(armoredPackets(whole).Armor, "\n\n", header, 1)}
		}},
	} {
		if infos, err := tt.key(tt.limit).Info(); err != nil || len(infos) != 1 {
			t.Errorf("%s of %d bytes: Info returned %d keys, %v", name, tt.limit, len(infos), err)
		}
		if _, err := tt.key(tt.limit + 1).Info(); !errors.Is(err, failure.ErrTooLarge) || !errors.Is(err, verify.ErrBadKey) {
			t.Errorf("%s of %d bytes: Info returned %v, want ErrTooLarge", name, tt.limit+1, err)
		}
	}
}

// padded returns b with zeros up to n bytes.
func padded(b []byte, n int) []byte { return append(bytes.Clone(b), make([]byte, n-len(b))...) }

// TestKeyPackets: the form of packets changes nothing, what a key may have beside its own packets is
// ignored, and what it may not have is refused. What follows the last field of a packet is not
// another packet.
func TestKeyPackets(t *testing.T) {
	t.Parallel()
	e := entity(t, "signer", cfg)
	e.Subkeys = nil
	whole := publicPackets(t, e)
	packets := split(t, whole)
	sig := signed(t, e.PrivateKey)
	inEach := func(p []byte) (all []byte) {
		for _, own := range packets {
			all = slices.Concat(all, p, own)
		}
		return append(all, p...)
	}
	reframed := func(frame func(typ byte, body []byte) []byte) (all []byte) {
		for _, p := range packets {
			all = append(all, frame(p[0]&0x3f, p[6:])...)
		}
		return all
	}
	trailing := func(p []byte) []byte {
		return reframed(func(typ byte, body []byte) []byte {
			if typ == userIDType {
				return framed(typ, body)
			}
			return framed(typ, append(bytes.Clone(body), p...))
		})
	}
	self := packets[len(packets)-1]
	revocation := *e
	must.Do(t, revocation.Revoke(packet.KeyCompromised, "", cfg))
	revoked := written(t, func(b *bytes.Buffer) error { return revocation.Revocations[0].Packet.Serialize(b) })
	for name, tt := range map[string]struct {
		packets []byte
		want    error // of CheckSignature
	}{
		"as they are":     {whole, nil},
		"another key too": {append(framed(6, []byte{3, 0, 0, 0, 0}), whole...), nil},
		"old form, length of four bytes": {reframed(func(typ byte, body []byte) []byte {
			return append(binary.BigEndian.AppendUint32([]byte{0x82 | typ<<2}, uint32(len(body))), body...)
		}), nil},
		"old form, length of two bytes": {reframed(func(typ byte, body []byte) []byte {
			return append(binary.BigEndian.AppendUint16([]byte{0x81 | typ<<2}, uint16(len(body))), body...)
		}), nil},
		"in parts": {reframed(func(typ byte, body []byte) []byte {
			return slices.Concat([]byte{0xc0 | typ, 0xe0 | 3}, body[:8], []byte{0xe0}, body[8:9], []byte{byte(len(body) - 9)}, body[9:])
		}), nil},
		"last one without an end": {slices.Concat(packets[0], packets[1], append([]byte{0x8b}, self[6:]...)), nil},

		"marker":                           {inEach(framed(10, []byte("PGP"))), nil},
		"trust":                            {inEach(framed(12, []byte{1, 2})), nil},
		"padding":                          {inEach(framed(21, make([]byte, 100))), nil},
		"padding in parts":                 {inEach([]byte{0xc0 | 21, 0xe0 | 2, 1, 2, 3, 4, 1, 5}), nil},
		"private use":                      {inEach(framed(60, make([]byte, 100))), nil},
		"signature of version 3":           {append(bytes.Clone(whole), framed(2, append([]byte{3, 5, 0x13}, make([]byte, 30)...))...), nil},
		"image":                            {append(bytes.Clone(whole), framed(userAttributeType, make([]byte, 1<<17))...), nil},
		"signature of an image":            {slices.Concat(whole, framed(userAttributeType, []byte{2, 1, 0}), self), nil},
		"unsupported subkey":               {slices.Concat(whole, framed(14, []byte{4, 0, 0, 0, 0, 99}), framed(2, rawSignature(4, 0x18, nil, nil))), nil},
		"revocation after an image":        {slices.Concat(whole, framed(userAttributeType, []byte{2, 1, 0}), revoked), verify.ErrRevoked},
		"user ID after the last field":     {trailing(framed(userIDType, []byte("somebody else"))), nil},
		"revocation after the last field":  {trailing(revoked), nil},
		"nested after the last field":      {trailing(framed(signatureType, nested(4, 0x19, 3000))), nil},
		"compressed after the last field":  {trailing(framed(8, []byte{0})), nil},
		"private key after the last field": {trailing(framed(5, []byte{4})), nil},

		"critical packet of an unknown type": {inEach(framed(22, nil)), verify.ErrBadKey},
		"type 0":                             {inEach(framed(0, nil)), verify.ErrBadKey},
		"type 39":                            {inEach(framed(39, nil)), verify.ErrBadKey},
		"type 40":                            {inEach(framed(40, nil)), nil},
		"literal data":                       {inEach(framed(11, append([]byte("b\x00\x00\x00\x00\x00"), whole...))), verify.ErrBadKey},
		"compressed data":                    {inEach(framed(8, append([]byte{0}, whole...))), verify.ErrBadKey},
		"encrypted data":                     {inEach(framed(9, whole)), verify.ErrBadKey},
		"session key":                        {inEach(framed(3, []byte{4, 7, 0, 8})), verify.ErrBadKey},
		"private key":                        {inEach(framed(5, []byte{4})), verify.ErrBadKey},
		"private subkey":                     {inEach(framed(7, nil)), verify.ErrBadKey},
		"text":                               {append(bytes.Clone(whole), "text"...), verify.ErrBadKey},
		"header without a length":            {append(bytes.Clone(whole), 0xc2), verify.ErrBadKey},
		"cut":                                {whole[:len(whole)-1], verify.ErrBadKey},
		"cut in parts":                       {append(bytes.Clone(whole), 0xc2, 0xe0, 1), verify.ErrBadKey},
		"length of four GiB":                 {append(bytes.Clone(whole), 0xc2, 255, 255, 255, 255, 255), verify.ErrBadKey},
		"cut old form":                       {append(bytes.Clone(whole), 0x8a, 0, 0), verify.ErrBadKey},
		"subpackets beyond the signature":    {append(bytes.Clone(whole), framed(2, []byte{4, 0x13, 22, 8, 255, 255, 0})...), verify.ErrBadKey},
		"empty subpacket":                    {append(bytes.Clone(whole), framed(2, rawSignature(4, 0x13, []byte{0}, nil))...), verify.ErrBadKey},
		"subpacket beyond the others":        {append(bytes.Clone(whole), framed(2, rawSignature(4, 0x13, []byte{200}, nil))...), verify.ErrBadKey},
		"empty signature":                    {append(bytes.Clone(whole), framed(2, nil)...), verify.ErrBadKey},
	} {
		key := armoredPackets(tt.packets)
		wantSignature(t, name, doc, sig, []verify.Key{key}, today, tt.want)
		infos, err := key.Info()
		if tt.want == verify.ErrBadKey {
			if !errors.Is(err, verify.ErrBadKey) {
				t.Errorf("%s: Info returned %v, want ErrBadKey", name, err)
			}
		} else if err != nil || len(infos) != 1 || fmt.Sprint(infos[0].UserIDs) != "[signer <signer@example.com>]" {
			t.Errorf("%s: Info returned %+v, %v", name, infos, err)
		}
	}
}

// TestPostQuantum: keys that sign with ML-DSA or SLH-DSA, and keys with a subkey of ML-KEM.
func TestPostQuantum(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]packet.Config{
		"ML-DSA-65 with Ed25519": {Algorithm: packet.PubKeyAlgoMldsa65Ed25519},
		"ML-DSA-87 with Ed448":   {Algorithm: packet.PubKeyAlgoMldsa87Ed448},
		"SLH-DSA":                {Algorithm: packet.PubKeyAlgoSlhdsaShake128f}, // signatures of more than 16 KiB
	} {
		c.V6Keys, c.DefaultHash = true, crypto.SHA512
		cfg := config(c)
		e := entity(t, "signer", cfg)
		must.Do(t, e.AddSigningSubkey(cfg)) // its binding has a signature in it
		key := public(t, e)
		infos, err := key.Info()
		if err != nil || infos[0].Algorithm != name || len(infos[0].Subkeys) != 1 || infos[0].Subkeys[0].Algorithm != name {
			t.Errorf("%s: Info returned %+v, %v", name, infos, err)
		}
		sig := written(t, func(b *bytes.Buffer) error {
			return openpgp.DetachSign(b, []*openpgp.Entity{e}, bytes.NewReader(doc), cfg)
		})
		wantSignature(t, name, doc, sig, []verify.Key{key}, today, nil)
		wantSignature(t, name, []byte("another document"), sig, []verify.Key{key}, today, verify.ErrBadSignature)
	}
}
