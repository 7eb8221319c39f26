package verify

// Only the files openpgp*.go use the OpenPGP library. This file parses; the others verify
// signatures (judge) and self-signatures (validity), and describe algorithms (key).

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	openpgp "github.com/ProtonMail/go-crypto/openpgp/v2"
	"github.com/tofureg/tofureg/verify/checksum"
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
	b, err := armor.Decode(strings.NewReader(block))
	if err != nil {
		return nil, fmt.Errorf("armor: %s", libraryText(err))
	}
	data, err := io.ReadAll(b.Body)
	if err != nil {
		return nil, fmt.Errorf("armor: %s", libraryText(err))
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

// readSignatures parses a detached signature, binary or armored.
func readSignatures(data []byte) (list []signature, err error) {
	defer recovered(ErrBadSignature, &err)
	data, err = removeArmor(data)
	if err != nil {
		return nil, err
	}
	packets := packet.NewOpaqueReader(bytes.NewReader(data))
	const tag = 2
	for {
		p, err := packets.Next()
		if err != nil || p.Tag != tag {
			break // data after the signatures is ignored
		}
		if len(list) == maxSignatures {
			return nil, fmt.Errorf("signature %w: more than %d signatures", checksum.ErrTooLarge, maxSignatures)
		}
		list = append(list, readSignature(p))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: not a detached OpenPGP signature", ErrBadSignature)
	}
	return list, nil
}

func readSignature(p *packet.OpaquePacket) signature {
	parsed, err := p.Parse()
	if sig, ok := parsed.(*packet.Signature); ok && err == nil {
		return signature{packet: sig}
	}
	// The library does not support MD5 and RIPEMD-160. Byte 3 is the hash algorithm.
	if c := p.Contents; len(c) > 3 && c[0] == 4 && (c[3] == 1 || c[3] == 3) {
		return signature{err: fmt.Errorf("%w: MD5 or RIPEMD-160", ErrWeak)}
	}
	return signature{err: fmt.Errorf("%w: %s", ErrBadSignature, libraryText(err))}
}

// removeArmor decodes ASCII armor, if there is any.
func removeArmor(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte(armorBegin)) {
		return data, nil
	}
	b, err := armor.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: armor: %s", ErrBadSignature, libraryText(err))
	}
	if b.Type != "PGP SIGNATURE" {
		return nil, fmt.Errorf("%w: %.60q, want a detached signature", ErrBadSignature, b.Type)
	}
	data, err = io.ReadAll(b.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: armor: %s", ErrBadSignature, libraryText(err))
	}
	return data, nil
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

func (c *certificate) fingerprint() string { return fingerprint(c.entity.PrimaryKey) }
