package verify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"

	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify"
)

func TestKeyInfo(t *testing.T) {
	t.Parallel()
	// state says what differs from a valid key without end.
	state := func(k verify.KeyInfo) (text string) {
		text = k.Algorithm
		if !k.Expires.IsZero() {
			text += " until " + k.Expires.Format(time.DateOnly)
		}
		if k.Revoked {
			text += " revoked"
		}
		return text
	}
	for name, want := range casetest.Pairs(t, "keys-of-gpg.txt") {
		infos := must.Get(gpgKey(t, name).Info())(t)
		var got []string
		for _, k := range infos {
			if len(k.Fingerprint) != 40 || !strings.HasSuffix(k.Fingerprint, k.ID) || len(k.ID) != 16 || strings.ToUpper(k.ID) != k.ID ||
				len(k.UserIDs) != 1 || !k.Created.Equal(date("2020-01-01")) {
				t.Errorf("%s: Info has %+v", name, k)
			}
			user, _, _ := strings.Cut(k.UserIDs[0], " ")
			text := user + " " + state(k)
			for _, s := range k.Subkeys {
				text += ", subkey " + state(s)
			}
			got = append(got, text)
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("Info of %s is %q, want %q", name, text, want)
		}
	}
}

func TestKeyForms(t *testing.T) {
	t.Parallel()
	rsa, ed := gpgKey(t, "rsa2048").Armor, gpgKey(t, "ed25519").Armor
	crlf := strings.NewReplacer("\n", "\r\n")
	for name, tt := range map[string]struct {
		armor string
		keys  int
	}{
		"one":                      {rsa, 1},
		"two blocks":               {rsa + ed, 2},
		"two blocks with text":     {"The keys:\n" + rsa + "\nand\n" + ed + "-- \nbye", 2},
		"the same key twice":       {rsa + rsa, 2},
		"CRLF":                     {crlf.Replace(rsa), 1},
		"two blocks, CRLF":         {crlf.Replace(rsa + ed), 2},
		"indented":                 {strings.ReplaceAll(rsa, "\n", "\n  "), 1},
		"no final newline":         {strings.TrimSpace(rsa), 1},
		"with headers":             {strings.Replace(rsa, "\n\n", "\nVersion: x\nComment: y\n\n", 1), 1},
		"without checksum":         {withoutChecksum(rsa), 1},
		"two keys in one block":    {gpgKey(t, "two").Armor, 2},
		"cut checksum, two blocks": {withoutChecksum(rsa) + withoutChecksum(ed), 2},
	} {
		infos, err := verify.Key{Armor: tt.armor}.Info()
		if err != nil || len(infos) != tt.keys {
			t.Errorf("%s: %d keys, error %v, want %d", name, len(infos), err, tt.keys)
		}
	}
}

// withoutChecksum removes the lines that start with an equals sign.
func withoutChecksum(armor string) string {
	return regexp.MustCompile(`(?m)^=.*\n`).ReplaceAllString(armor, "")
}

func TestKeyUnreadable(t *testing.T) {
	t.Parallel()
	rsa := gpgKey(t, "rsa2048").Armor
	begin := "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n"
	end := "-----END PGP PUBLIC KEY BLOCK-----\n"
	for name, armor := range map[string]string{
		"empty":             "",
		"text":              "no key",
		"null":              "null",
		"binary":            "\x99\x01\x0d\x04",
		"begin only":        begin,
		"cut":               rsa[:len(rsa)/2],
		"cut, with an end":  rsa[:len(rsa)/2] + "\n" + end,
		"begin in a block":  begin + rsa,
		"empty block":       begin + end,
		"no Base64":         begin + "!!!!\n" + end,
		"garbage":           begin + "AAAAAAAAAAAAAAAAAAAAAAAAAA==\n" + end,
		"good and then bad": rsa + begin + "AAAA\n" + end,

		"begin of four dashes":         rsa[1:],
		"good, begin of four dashes":   rsa + rsa[1:],
		"begin of six dashes":          "-" + rsa,
		"begin in lower case":          strings.ToLower(begin) + rsa[len(begin):],
		"begin of another word":        rsa + strings.Replace(rsa, "KEY BLOCK", "KEYS", 1),
		"good, misspelt begin":         rsa + strings.Replace(rsa, "BEGIN", "BEGN", 1),
		"quoted begin":                 rsa + "> " + rsa,
		"end without begin":            rsa[len(begin):],
		"good and end without begin":   rsa + rsa[len(begin):],
		"end of four dashes":           strings.Replace(rsa, "\n-----END", "\n----END", 1),
		"end of four dashes, good":     strings.Replace(rsa, "\n-----END", "\n----END", 1) + rsa,
		"good and a private key block": rsa + privateKey(t),
		"signature":                    string(gpgFile(t, "armored.sig")),
		"message":                      string(gpgFile(t, "clear.sig")),
		"private key":                  privateKey(t),
		"renamed private":              strings.ReplaceAll(privateKey(t), "PRIVATE", "PUBLIC"),
	} {
		infos, err := verify.Key{ID: "0123", Armor: armor}.Info()
		if !errors.Is(err, verify.ErrBadKey) || infos != nil {
			t.Errorf("%s: %v, error %v, want ErrBadKey", name, infos, err)
		}
		if err != nil && !strings.Contains(err.Error(), "0123") {
			t.Errorf("%s: the error does not name the key: %v", name, err)
		}
	}
}

func TestKeyJSON(t *testing.T) {
	t.Parallel()
	key := verify.Key{ID: "A", Armor: "B"}
	data, err := json.Marshal(key)
	if err != nil || string(data) != `{"id":"A","armor":"B"}` {
		t.Errorf("%s, %v", data, err)
	}
	infos := must.Get(gpgKey(t, "ed25519").Info())(t)
	data, err = json.Marshal(infos[0])
	if err != nil || strings.Contains(string(data), "expires") || strings.Contains(string(data), "revoked") {
		t.Errorf("%s, %v", data, err)
	}
}

// A set of pinned keys is complete or an error, whichever key signed.
func TestPinnedKeysUnreadable(t *testing.T) {
	t.Parallel()
	signer, other := gpgKey(t, "ed25519"), gpgKey(t, "rsa2048")
	block := must.Get(armor.Decode(strings.NewReader(gpgKey(t, "two").Armor)))(t)
	two := must.Get(io.ReadAll(block.Body))(t)
	damaged := verify.Key{Armor: armored(t, openpgp.PublicKeyType, func(b *bytes.Buffer) error {
		b.Write(two)
		b.Write([]byte{0xc6, 6, 9, 0, 0, 0, 0, 1}) // a key of version 9
		return nil
	})}
	if infos, err := damaged.Info(); err != nil || len(infos) != 2 {
		t.Fatalf("Info of a ring with an unreadable key: %d keys, error %v, want 2", len(infos), err)
	}
	for name, keys := range map[string][]verify.Key{
		"empty":            {signer, {}},
		"first line cut":   {{Armor: signer.Armor + other.Armor[1:]}},
		"before":           {{Armor: "no key"}, signer},
		"beside in a ring": {signer, damaged},
	} {
		policy := verify.Policy{Now: now, Keys: verify.NewKeySet(keys...)}
		_, err := policy.CheckSums(verify.Evidence{Sums: gpgFile(t, "SHA256SUMS"), Signature: gpgFile(t, "ed25519.sig")})
		if !errors.Is(err, verify.ErrBadKey) {
			t.Errorf("%s: CheckSums with these pinned keys: %v, want ErrBadKey", name, err)
		}
	}
}

// Copies of a key give one answer in any order: the newest says how long it is valid.
func TestKeyCopies(t *testing.T) {
	t.Parallel()
	old, prolonged := gpgKey(t, "expiring").Armor, gpgKey(t, "prolonged").Armor
	for order, blocks := range map[string]string{"expired copy first": old + prolonged, "prolonged copy first": prolonged + old} {
		for _, sig := range []string{"expiring", "prolonged"} {
			for _, policy := range []verify.Policy{{}, {RequireCurrent: true}, {AllowExpired: true}} {
				policy.Now, policy.Keys = now, verify.NewKeySet(verify.Key{Armor: blocks})
				sums, err := policy.CheckSums(verify.Evidence{Sums: gpgFile(t, "SHA256SUMS"), Signature: gpgFile(t, sig+".sig")})
				if err != nil {
					t.Errorf("%s, %s.sig, %+v: %v", order, sig, policy, err)
				} else if by := sums.SignedBy(); by.KeyExpired || by.Expired {
					t.Errorf("%s, %s.sig: signed by %+v, want a current key", order, sig, by)
				}
			}
		}
	}
}
