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

// KeyOptions say what kind of key [NewKey] makes. The zero value is an Ed25519
// key that never expires.
type KeyOptions struct {
	// Name is the user ID. Empty means "regtest".
	Name string

	// RSABits makes an RSA key of this size instead, such as 4096. Such keys
	// take long to make; several registries can share one.
	RSABits int

	// Created is when the key was made, in whole seconds. The zero time means
	// the last day of 1999 (UTC), which is in the past for the clock of a
	// testing/synctest bubble too.
	Created time.Time

	// Expires is when the key ends. The zero time means never.
	Expires time.Time

	// Signs is the time that signatures state. The zero time means one hour
	// after Created. A time after Expires makes signatures that were never
	// valid; with a time before it they were valid when they were made.
	Signs time.Time

	// Subkey makes a subkey sign, not the primary key.
	Subkey bool

	// Revoked makes a key that its owner has taken back.
	Revoked bool
}

// A Key is an OpenPGP key that signs SHA256SUMS documents. It can be shared
// between registries, and used by several goroutines.
type Key struct {
	entity *openpgp.Entity
	signer *packet.PrivateKey
	signs  time.Time
	armor  string
}

// NewKey makes a fresh key. It panics if the options contradict one another,
// such as an expiry before the creation.
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
	config := &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA,
		Time:      func() time.Time { return o.Created },
	}
	if o.RSABits > 0 {
		config.Algorithm, config.RSABits = packet.PubKeyAlgoRSA, o.RSABits
	}
	if !o.Expires.IsZero() {
		lifetime := o.Expires.Sub(o.Created) / time.Second
		if lifetime <= 0 || int64(lifetime) != int64(uint32(lifetime)) {
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

// Fingerprint returns the full fingerprint of the primary key: 40 upper-case
// hexadecimal digits.
func (k *Key) Fingerprint() string { return fmt.Sprintf("%X", k.entity.PrimaryKey.Fingerprint) }

// ID returns the key ID of the primary key: the last 16 digits of the
// fingerprint.
func (k *Key) ID() string { return fmt.Sprintf("%016X", k.entity.PrimaryKey.KeyId) }

// Armor returns the public key as an ASCII-armoured block.
func (k *Key) Armor() string { return k.armor }

// Public returns the public key as a policy wants it for a pin.
func (k *Key) Public() verify.Key { return verify.Key{ID: k.ID(), Armor: k.armor} }

// Sign returns a detached signature over document, in binary form.
func (k *Key) Sign(document []byte) []byte {
	var buf bytes.Buffer
	if err := k.sign(document).Serialize(&buf); err != nil {
		panic(fmt.Sprintf("regtest: Sign: %v", err))
	}
	return buf.Bytes()
}

// sign makes the signature packet itself: the signing functions of the library
// refuse keys that have expired, and expired keys are among those wanted here.
func (k *Key) sign(document []byte) *packet.Signature {
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
	if err != nil {
		panic(fmt.Sprintf("regtest: signing: %v", err))
	}
	return sig
}

// armored returns the public key as an ASCII-armoured block.
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
