package verify

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tofureg/tofureg/failure"
)

// A Key is a public key that a registry lists or a caller pins. Fields other than Armor prove nothing.
type Key struct {
	ID    string `json:"id,omitempty"` // key ID, for display
	Armor string `json:"armor"`        // one or more ASCII-armored public key blocks

	TrustSignature string `json:"trust_signature,omitempty"` // ASCII-armored
	Source         string `json:"source,omitempty"`          // name of the publisher
	SourceURL      string `json:"source_url,omitempty"`      // page of the publisher
}

// These limits bound the time that a hostile registry can cost.
const (
	maxArmor = 1 << 20 // bytes of one Key
	maxKeys  = 100     // in one list
)

// KeyInfo describes an OpenPGP key.
type KeyInfo struct {
	ID          string    `json:"id"`                 // can be forged: 16 digits of the fingerprint
	Fingerprint string    `json:"fingerprint"`        // 40 upper-case hex digits, or 64 for version 6
	UserIDs     []string  `json:"user_ids,omitempty"` // names, sorted, not verified; none for subkeys
	Algorithm   string    `json:"algorithm"`          // for example "RSA 4096" or "Ed25519"
	Created     time.Time `json:"created"`            // when the key may first sign
	Expires     time.Time `json:"expires,omitzero"`   // zero if never
	Revoked     bool      `json:"revoked,omitempty"`  // by the key itself, also as superseded or retired
	Subkeys     []KeyInfo `json:"subkeys,omitempty"`  // subkeys that may sign
}

// Info describes the keys in k in order. A key that cannot be read is ignored if its armored block has another one,
// unlike in a [KeySet]. Text outside of blocks is ignored, but not a damaged line of a block. The error wraps
// [ErrBadKey], also for a private key, or beyond the limits of [CheckSignature]
// [github.com/tofureg/tofureg/failure.ErrTooLarge].
func (k Key) Info() ([]KeyInfo, error) {
	b := newBudget()
	certs, err := k.parse(b, false)
	if err != nil {
		return nil, err
	}
	infos := make([]KeyInfo, 0, len(certs))
	for _, c := range certs {
		info, err := c.info(b)
		if err != nil {
			return nil, k.failure(err)
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// parse reads the keys in k. If all is set, one that cannot be read is an error, also beside others in its block.
func (k Key) parse(b *budget, all bool) ([]*certificate, error) {
	if len(k.Armor) > maxArmor {
		return nil, k.failure(fmt.Errorf("%w: %d bytes of armor, %d are allowed", failure.ErrTooLarge, len(k.Armor), maxArmor))
	}
	blocks, err := armoredBlocks(k.Armor)
	if err != nil {
		return nil, k.failure(err)
	}
	var certs []*certificate
	for _, block := range blocks {
		more, err := readCertificates(block, b, all)
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
	return fmt.Errorf("%w %.40q: %w", ErrBadKey, k.ID, err)
}

const (
	keyBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	keyEnd   = "-----END PGP PUBLIC KEY BLOCK-----"
)

// armoredBlocks splits text into its public key blocks. A damaged first or last line of a block is an error, so
// that no key is taken for text between blocks.
func armoredBlocks(text string) ([]string, error) {
	var blocks []string
	start, at := -1, 0
	for line := range strings.Lines(text) {
		begin := at
		at += len(line)
		line = strings.TrimSpace(line)
		upper := strings.ToUpper(line)
		switch {
		case line == keyBegin && start < 0:
			start = begin
		case line == keyEnd && start >= 0:
			blocks = append(blocks, text[start:at])
			start = -1
		case line == keyBegin:
			return nil, errors.New("block without an end before the next block")
		case line == keyEnd:
			return nil, errors.New("end of a block without its begin")
		case strings.HasPrefix(upper, "-----BEGIN "), strings.HasPrefix(upper, "-----END "), strings.Contains(upper, "KEY BLOCK"):
			return nil, fmt.Errorf("%.60q, want %s and %s", line, keyBegin, keyEnd)
		}
	}
	switch {
	case start >= 0:
		return nil, errors.New("block without an end")
	case len(blocks) == 0:
		return nil, errors.New("no armored public key block")
	}
	return blocks, nil
}

// canonicalFingerprint returns pin in the form of KeyInfo.Fingerprint.
func canonicalFingerprint(pin string) (string, error) {
	s := strings.TrimPrefix(strings.Join(strings.Fields(strings.ToUpper(pin)), ""), "0X")
	if _, err := hex.DecodeString(s); err != nil || len(s) != 40 && len(s) != 64 {
		return "", fmt.Errorf("%w: fingerprint %.80q, want 40 or 64 hex digits; a key ID is not enough", ErrPolicy, pin)
	}
	return s, nil
}
