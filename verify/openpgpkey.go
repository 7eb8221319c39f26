package verify

import (
	"crypto"
	"crypto/dsa" //lint:ignore SA1019 only to measure keys
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

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
