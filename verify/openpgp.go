package verify

// The files openpgp*.go are the only ones that know the OpenPGP library. Nothing of it
// leaves them but the types certificate and signature. This one reads; the others
// check signatures (judge), self-signatures (validity) and algorithms (key).

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

// certificate is a primary key with its names, subkeys and self-signatures, which
// are verified once they matter.
type certificate struct {
	entity      *openpgp.Entity
	charged     bool                       // the budget has paid for it
	revocations func() []*packet.Signature // of the primary key, those that verify
	known       map[*packet.PublicKey]validity
}

// signature is one signature packet, or why it could not be read.
type signature struct {
	packet *packet.Signature
	err    error
}

// recovered turns a panic of the library, which parses what strangers sent, into
// an error. None is known.
func recovered(kind error, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: the OpenPGP parser failed: %.200q", kind, fmt.Sprint(p))
	}
}

// library prepares an error of the library for people: its texts quote no input
// verbatim but for short names, which are made safe here.
func library(err error) string { return fmt.Sprintf("%.200q", err.Error()) }

// readCertificates parses one armored block.
func readCertificates(block string) (certs []*certificate, err error) {
	defer recovered(ErrBadKey, &err)
	b, err := armor.Decode(strings.NewReader(block))
	if err != nil {
		return nil, fmt.Errorf("armor: %s", library(err))
	}
	data, err := io.ReadAll(b.Body)
	if err != nil {
		return nil, fmt.Errorf("armor: %s", library(err))
	}
	entities, err := openpgp.ReadKeyRing(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New(library(err))
	}
	for _, e := range entities {
		private := e.PrivateKey != nil
		for _, sub := range e.Subkeys {
			private = private || sub.PrivateKey != nil
		}
		if private {
			return nil, errors.New("the block holds a private key")
		}
		certs = append(certs, &certificate{entity: e, known: map[*packet.PublicKey]validity{}, revocations: sync.OnceValue(func() []*packet.Signature {
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
	data, err = dearmored(data)
	if err != nil {
		return nil, err
	}
	packets := packet.NewOpaqueReader(bytes.NewReader(data))
	const tag = 2
	for {
		p, err := packets.Next()
		if err != nil || p.Tag != tag {
			break // what follows the signatures is ignored
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
	// The library knows no MD5 and no RIPEMD-160. Byte 3 names the hash.
	if c := p.Contents; len(c) > 3 && c[0] == 4 && (c[3] == 1 || c[3] == 3) {
		return signature{err: fmt.Errorf("%w: MD5 or RIPEMD-160", ErrWeak)}
	}
	return signature{err: fmt.Errorf("%w: %s", ErrBadSignature, library(err))}
}

// dearmored removes the ASCII armor, if there is one.
func dearmored(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte(armorBegin)) {
		return data, nil
	}
	b, err := armor.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: armor: %s", ErrBadSignature, library(err))
	}
	if b.Type != "PGP SIGNATURE" {
		return nil, fmt.Errorf("%w: %.60q where a detached signature is wanted", ErrBadSignature, b.Type)
	}
	data, err = io.ReadAll(b.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: armor: %s", ErrBadSignature, library(err))
	}
	return data, nil
}

// issuer names the key that s says it is by.
func (s signature) issuer() string {
	switch {
	case s.packet == nil || s.packet.IssuerKeyId == nil:
		return "a key that it does not name"
	case len(s.packet.IssuerFingerprint) > 0:
		return fmt.Sprintf("key %X", s.packet.IssuerFingerprint)
	}
	return fmt.Sprintf("key %016X", *s.packet.IssuerKeyId)
}

func (c *certificate) fingerprint() string { return fingerprint(c.entity.PrimaryKey) }
