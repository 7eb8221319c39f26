package verify_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp/armor"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify"
)

func seeds(f *testing.F, pattern string) [][]byte {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "gpg", pattern))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	var out [][]byte
	for _, path := range paths {
		out = append(out, must.Get(os.ReadFile(path))(f))
	}
	return out
}

// Whatever stands in for a signature: what is accepted is the signature of the
// document by that key.
func FuzzSignature(f *testing.F) {
	doc, keys := gpgFile(f, "SHA256SUMS"), gpgKeys(f, "two", "subkey", "rsa4096", "ecdsa")
	for _, sig := range seeds(f, "*.sig") {
		f.Add(sig)
	}
	f.Fuzz(func(t *testing.T, sig []byte) {
		got, err := verify.CheckSignature(doc, sig, keys, today)
		classified(t, got, err)
		if err == nil && !got.Created.Equal(date("2020-06-01")) {
			t.Errorf("signed at another time: %+v", got)
		}
		if _, err := verify.CheckSignature([]byte("another document"), sig, keys, today); err == nil {
			t.Error("a signature of every document")
		}
	})
}

// Whatever stands in for a key is described or refused, and vouches for no document
// that it did not sign.
func FuzzKey(f *testing.F) {
	for _, key := range seeds(f, "*.asc") {
		f.Add(string(key))
	}
	f.Add("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEXgvhABYJKwYBBAHaRw8BAQdA\n-----END PGP PUBLIC KEY BLOCK-----\n")
	doc, sig := gpgFile(f, "SHA256SUMS"), gpgFile(f, "several.sig")
	f.Fuzz(func(t *testing.T, armor string) { tryKey(t, armor, doc, sig) })
}

// FuzzKeyPackets is FuzzKey below the armor, and takes the packets for a signature, too. Whatever they
// are, they take little memory.
func FuzzKeyPackets(f *testing.F) {
	var own [][]byte
	for _, key := range seeds(f, "*.asc") {
		block := must.Get(armor.Decode(bytes.NewReader(key)))(f)
		data := must.Get(io.ReadAll(block.Body))(f)
		f.Add(data)
		own = append(own, data)
	}
	for _, sig := range seeds(f, "*.sig") {
		f.Add(sig)
	}
	for version, typ := range map[byte]byte{4: 0x18, 6: 0x19} {
		f.Add(slices.Concat(own[0], framed(signatureType, nested(version, typ, 2000))))
	}
	doc, sig, keys := gpgFile(f, "SHA256SUMS"), gpgFile(f, "several.sig"), gpgKeys(f, "two", "subkey", "rsa4096", "ecdsa")
	f.Fuzz(func(t *testing.T, packets []byte) {
		if len(packets) > maxPackets {
			packets = packets[:maxPackets]
		}
		key := armoredPackets(packets)
		for name, f := range map[string]func(){
			"Info":                          func() { _, _ = key.Info() },
			"CheckSignature by such a key":  func() { _, _ = verify.CheckSignature(doc, sig, []verify.Key{key}, today) },
			"CheckSignature of a signature": func() { _, _ = verify.CheckSignature(doc, packets, keys, today) },
		} {
			if used, _ := allocated(f); used > maxUsed {
				t.Errorf("%s allocated %d bytes for %d bytes of packets, want at most %d", name, used, len(packets), maxUsed)
			}
		}
		tryKey(t, key.Armor, doc, sig)
	})
}

func tryKey(t *testing.T, armor string, doc, sig []byte) {
	t.Helper()
	key := verify.Key{Armor: armor}
	infos, err := key.Info()
	if err != nil && (!errors.Is(err, verify.ErrBadKey) || infos != nil) {
		t.Errorf("%v, %v", infos, err)
	}
	got, err := verify.CheckSignature(doc, sig, []verify.Key{key}, today)
	classified(t, got, err)
	if _, err := verify.CheckSignature([]byte("another document"), sig, []verify.Key{key}, today); err == nil {
		t.Error("a key that signs everything")
	}
}

func classified(t *testing.T, got *verify.Signature, err error) {
	t.Helper()
	if (err == nil) == (got == nil) {
		t.Fatalf("%v, %v", got, err)
	}
	for _, kind := range []error{
		nil, verify.ErrUnknownKey, verify.ErrBadSignature, verify.ErrRevoked, verify.ErrWeak, verify.ErrFuture, verify.ErrExpired, failure.ErrTooLarge,
	} {
		if errors.Is(err, kind) {
			return
		}
	}
	t.Errorf("error of no kind: %v", err)
}
