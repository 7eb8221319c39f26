package verify

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/tofureg/tofureg/verify/checksum"
)

// A Key is one of the public keys that a registry lists for a package, or that a
// caller trusts. Only Armor counts.
type Key struct {
	// ID is the key id as the source states it, for display. It may be empty or
	// wrong; nothing depends on it.
	ID string `json:"id,omitempty"`

	// Armor is an ASCII-armored OpenPGP public key block, or several. A block may
	// hold several keys. Line ends may be CRLF; text around blocks is ignored.
	Armor string `json:"armor"`
}

// The limits of what is read as keys. They bound the time that a hostile registry
// can cost.
const (
	maxArmor = 1 << 20 // bytes of one Key
	maxKeys  = 100     // in one list
)

// KeyInfo describes one OpenPGP key.
type KeyInfo struct {
	// ID is the last 64 bits of the fingerprint in 16 upper-case hex digits. Other
	// keys with the same ID can be made: compare fingerprints.
	ID string `json:"id"`

	// Fingerprint identifies the key: 40 upper-case hex digits, or 64 for version 6
	// keys. It is what [Policy.Fingerprints] wants.
	Fingerprint string `json:"fingerprint"`

	// UserIDs are the names that the key gives itself, sorted. Nobody has verified
	// them. Subkeys have none.
	UserIDs []string `json:"user_ids,omitempty"`

	// Algorithm is for people, for example "RSA 4096" or "Ed25519".
	Algorithm string `json:"algorithm"`

	// Created and Expires bound the time in which the key may sign; Expires is zero
	// if there is no end.
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`

	// Revoked tells that the key carries a valid revocation by itself, whatever
	// its reason.
	Revoked bool `json:"revoked,omitempty"`

	// Subkeys are the subkeys that may sign.
	Subkeys []KeyInfo `json:"subkeys,omitempty"`
}

// Info parses k and describes every key in it, in their order. The error wraps
// [ErrBadKey] if there is no key, if a block is damaged or holds private keys, or
// if it holds nothing that can be read. It also wraps [checksum.ErrTooLarge] if Armor has more
// than 1 MiB, or for keys beyond the limits of [CheckSignature].
func (k Key) Info() ([]KeyInfo, error) {
	certs, err := k.parse()
	if err != nil {
		return nil, err
	}
	infos := make([]KeyInfo, 0, len(certs))
	budget := maxVerifications
	for _, c := range certs {
		info, err := c.info(&budget)
		if err != nil {
			return nil, k.failure(err)
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func (k Key) parse() ([]*certificate, error) {
	if len(k.Armor) > maxArmor {
		return nil, k.failure(fmt.Errorf("%w: %d bytes of armor, %d are allowed", checksum.ErrTooLarge, len(k.Armor), maxArmor))
	}
	blocks, err := armoredBlocks(k.Armor)
	if err != nil {
		return nil, k.failure(err)
	}
	var certs []*certificate
	for _, block := range blocks {
		more, err := readCertificates(block)
		if err != nil {
			return nil, k.failure(err)
		}
		certs = append(certs, more...)
	}
	return certs, nil
}

func (k Key) failure(err error) error {
	if k.ID == "" {
		return fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	return fmt.Errorf("%w: key listed as %.40q: %w", ErrBadKey, k.ID, err)
}

const (
	armorBegin     = "-----BEGIN PGP "
	armorEnd       = "-----END PGP "
	publicKeyBlock = "PUBLIC KEY BLOCK-----"
)

// armoredBlocks cuts text into its public key blocks.
func armoredBlocks(text string) ([]string, error) {
	var blocks []string
	start, at := -1, 0
	for line := range strings.Lines(text) {
		begin := at
		at += len(line)
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, armorBegin):
			if start >= 0 {
				return nil, fmt.Errorf("a block begins before the one before it has ended")
			}
			if !strings.HasSuffix(line, publicKeyBlock) {
				return nil, fmt.Errorf("%.60q where a public key block is wanted", line)
			}
			start = begin
		case strings.HasPrefix(line, armorEnd) && start >= 0:
			blocks = append(blocks, text[start:at])
			start = -1
		}
	}
	switch {
	case start >= 0:
		return nil, fmt.Errorf("the block has no end")
	case len(blocks) == 0:
		return nil, fmt.Errorf("no armored public key block")
	}
	return blocks, nil
}

// canonicalFingerprint returns a pin as KeyInfo.Fingerprint has it. Spaces, lower
// case and a leading 0x are what people paste.
func canonicalFingerprint(pin string) (string, error) {
	s := strings.TrimPrefix(strings.Join(strings.Fields(strings.ToUpper(pin)), ""), "0X")
	if _, err := hex.DecodeString(s); err != nil || len(s) != 40 && len(s) != 64 {
		return "", fmt.Errorf("%w: fingerprint %.80q: 40 or 64 hex digits are wanted, a key id is not enough", ErrPolicy, pin)
	}
	return s, nil
}
