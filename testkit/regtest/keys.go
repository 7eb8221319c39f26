package regtest

import (
	"bytes"
	"crypto"
	"fmt"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/tofureg/tofureg/verify"
)

// KeyOptions are options of NewKey. Times are from 1970 to 2106, cut to seconds.
type KeyOptions struct {
	Name    string    // of "NAME <regtest@example.com>"; if empty, "regtest"
	RSABits int       // at least 1024; if zero or less, the key is Ed25519
	Created time.Time // if zero, 31 December 1999 UTC
	Expires time.Time // if zero, never
	Signs   time.Time // if zero, an hour after Created
	Subkey  bool      // a subkey signs
	Revoked bool      // as compromised, at Created
}

// A Key signs SHA256SUMS documents with OpenPGP. It is safe for concurrent use.
type Key struct {
	entity *openpgp.Entity
	signer *packet.PrivateKey
	signs  time.Time
	armor  string
}

// NewKey makes a key.
func NewKey(o KeyOptions) *Key {
	key, err := newKey(o)
	if err != nil {
		panic(fmt.Sprintf("regtest: NewKey: %v", err))
	}
	return key
}

func newKey(o KeyOptions) (*Key, error) {
	if o.Name == "" {
		o.Name = "regtest"
	}
	if o.Created.IsZero() {
		o.Created = time.Date(1999, time.December, 31, 0, 0, 0, 0, time.UTC)
	}
	if o.Signs.IsZero() {
		o.Signs = o.Created.Add(time.Hour)
	}
	for _, at := range []time.Time{o.Created, o.Signs} {
		if s := at.Unix(); s != int64(uint32(s)) {
			return nil, fmt.Errorf("OpenPGP cannot state the time %v", at)
		}
	}
	config := &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA,
		Time:      func() time.Time { return o.Created },
	}
	if o.RSABits > 0 {
		config.Algorithm, config.RSABits = packet.PubKeyAlgoRSA, o.RSABits
	}
	if !o.Expires.IsZero() {
		lifetime := o.Expires.Unix() - o.Created.Unix()
		if lifetime <= 0 || lifetime != int64(uint32(lifetime)) {
			return nil, fmt.Errorf("a key made at %v cannot expire at %v", o.Created, o.Expires)
		}
		config.KeyLifetimeSecs = uint32(lifetime)
	}
	entity, err := openpgp.NewEntity(o.Name, "", "regtest@example.com", config)
	if err != nil {
		return nil, err
	}
	key := &Key{entity: entity, signer: entity.PrivateKey, signs: o.Signs}
	if o.Subkey {
		if err := entity.AddSigningSubkey(config); err != nil {
			return nil, err
		}
		key.signer = entity.Subkeys[len(entity.Subkeys)-1].PrivateKey
	}
	if o.Revoked {
		if err := entity.RevokeKey(packet.KeyCompromised, "made for a test", config); err != nil {
			return nil, err
		}
	}
	key.armor, err = armored(entity)
	return key, err
}

// Fingerprint returns the primary fingerprint in upper-case hex.
func (k *Key) Fingerprint() string { return fmt.Sprintf("%X", k.entity.PrimaryKey.Fingerprint) }

// Public returns the public key.
func (k *Key) Public() verify.Key {
	return verify.Key{ID: fmt.Sprintf("%016X", k.entity.PrimaryKey.KeyId), Armor: k.armor}
}

// sign returns a detached binary signature of document. It makes the packet itself, because the
// library does not sign with expired keys.
func (k *Key) sign(document []byte) []byte {
	public := &k.signer.PublicKey
	sig := &packet.Signature{
		Version:      public.Version,
		SigType:      packet.SigTypeBinary,
		PubKeyAlgo:   public.PubKeyAlgo,
		Hash:         crypto.SHA256,
		CreationTime: k.signs,
		IssuerKeyId:  &public.KeyId,
	}
	hash, err := sig.PrepareSign(nil)
	if err == nil {
		hash.Write(document)
		err = sig.Sign(hash, k.signer, nil)
	}
	var buf bytes.Buffer
	if err == nil {
		err = sig.Serialize(&buf)
	}
	if err != nil {
		panic(fmt.Sprintf("regtest: signing: %v", err))
	}
	return buf.Bytes()
}

// armored returns the public key as an ASCII-armored block.
func armored(entity *openpgp.Entity) (string, error) {
	var buf strings.Builder
	w, err := armor.Encode(&buf, openpgp.PublicKeyType, nil)
	if err != nil {
		return "", err
	}
	if err := entity.Serialize(w); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return buf.String() + "\n", nil
}
