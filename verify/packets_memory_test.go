//go:build !race

package verify_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/verify"
)

// TestPacketsMemory: each kind of packet takes less than 32 MiB at its largest size and at the
// size of which most fit, in a key and as a signature. The test measures, so it is not
// parallel, and is not built for the race detector, which allocates for itself.
func TestPacketsMemory(t *testing.T) {
	e := entity(t, "signer", cfg)
	e.Subkeys = nil
	keys := []verify.Key{public(t, e)}
	whole := publicPackets(t, e)
	var most int
	var longest time.Duration
	try := func(name string, p []byte) {
		t.Helper()
		key, as := filled(p, whole), p[:min(len(p), scheme.MaxSignature)]
		for _, call := range []struct {
			name string
			f    func()
		}{
			{"Info", func() { _, _ = key.Info() }},
			{"CheckSignature", func() {
				_, _ = verify.CheckSignature(doc, bytes.Repeat(as, min(16, scheme.MaxSignature/len(as))), keys, today)
			}},
		} {
			used, took := allocated(call.f)
			most, longest = max(most, used), max(longest, took)
			if used > maxUsed {
				t.Errorf("%s: %s allocated %d bytes, want at most %d", name, call.name, used, maxUsed)
			}
		}
	}
	for typ := range byte(64) {
		for version := byte(3); version <= 6; version++ {
			if version != 4 && typ > 7 && typ != publicSubkeyType {
				continue // only signatures, keys and session keys have several versions
			}
			large := make([]byte, maxPackets-len(whole)-6)
			large[0] = version
			try(fmt.Sprintf("large packet of type %d, version %d", typ, version), framed(typ, large))
			try(fmt.Sprintf("small packets of type %d, version %d", typ, version), []byte{0xc0 | typ, 1, version})
		}
	}
	notation := []byte{0, 0, 0, 0, 0, 1, 0, 0, 'x'}
	for _, version := range []byte{4, 6} {
		for name, s := range map[string][]byte{
			"empty text":  subpacket(26, nil),
			"short text":  subpacket(28, []byte("1234")),
			"notation":    subpacket(20, notation),
			"recipient":   subpacket(35, append([]byte{4}, make([]byte, 20)...)),
			"lifetime":    subpacket(9, []byte{1, 2, 3, 4}),
			"unknown":     subpacket(127, nil),
			"primary":     subpacket(25, []byte{1}),
			"fingerprint": subpacket(33, append([]byte{4}, make([]byte, 20)...)),
		} {
			for _, size := range []int{0, 60, 900, 60_000} {
				full := bytes.Repeat(s, size/len(s))
				try(fmt.Sprintf("version %d, %d bytes of hashed %s", version, size, name), framed(signatureType, rawSignature(version, 0x13, full, nil)))
				try(fmt.Sprintf("version %d, %d bytes of unhashed %s", version, size, name), framed(signatureType, rawSignature(version, 0x13, nil, full)))
			}
		}
		for _, typ := range []byte{0x00, 0x13, 0x18, 0x19} {
			for _, size := range []int{1000, 16_000, 60_000, 100_000} {
				if version == 6 || size < 1<<16 {
					try(fmt.Sprintf("version %d, type %#x, nested in %d bytes", version, typ, size), framed(signatureType, nested(version, typ, size)))
				}
			}
		}
	}
	for name, c := range map[string]packet.Config{
		"Ed25519":   {V6Keys: true, Algorithm: packet.PubKeyAlgoEd25519},
		"P-256":     {Algorithm: packet.PubKeyAlgoECDSA, Curve: packet.CurveNistP256},
		"P-521":     {Algorithm: packet.PubKeyAlgoECDSA, Curve: packet.CurveNistP521},
		"Brainpool": {Algorithm: packet.PubKeyAlgoECDSA, Curve: packet.CurveBrainpoolP256},
		"RSA":       {Algorithm: packet.PubKeyAlgoRSA, RSABits: 2048},
		"ML-DSA-65": {V6Keys: true, Algorithm: packet.PubKeyAlgoMldsa65Ed25519},
		"ML-DSA-87": {V6Keys: true, Algorithm: packet.PubKeyAlgoMldsa87Ed448},
		"SLH-DSA":   {V6Keys: true, Algorithm: packet.PubKeyAlgoSlhdsaShake128f},
	} {
		other := entity(t, "other", config(c))
		packets := split(t, publicPackets(t, other))
		for _, p := range packets { // of keys with subkeys for encryption
			try(fmt.Sprintf("%s, packet of type %d", name, p[0]&0x3f), p)
		}
		try(name+", subkey", append([]byte{0xc0 | publicSubkeyType}, packets[0][1:]...))
		try(name+", whole key", slices.Concat(packets...))
	}
	try("user ID at its limit", framed(userIDType, make([]byte, 2048)))
	t.Logf("at most %d MiB and %v", most>>20, longest)
}
