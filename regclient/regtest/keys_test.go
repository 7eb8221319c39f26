package regtest_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/tofureg/tofureg/regclient/regtest"
)

var document = []byte("0000  terraform-provider-alpha_1.0.0_linux_amd64.zip\n")

// check checks a signature as the CLI does, at a point in time.
func check(t *testing.T, key *regtest.Key, document, sig []byte, at time.Time) error {
	t.Helper()
	ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(key.Armor()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = openpgp.CheckDetachedSignature(ring, bytes.NewReader(document), bytes.NewReader(sig), &packet.Config{Time: func() time.Time { return at }})
	return err
}

func checkSignature(t *testing.T, key *regtest.Key, document, sig []byte) {
	t.Helper()
	if err := check(t, key, document, sig, time.Now()); err != nil {
		t.Errorf("signature: %v", err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	bubble := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	year := func(y int) time.Time { return time.Date(y, 6, 1, 0, 0, 0, 0, time.UTC) }
	tests := map[string]struct {
		options regtest.KeyOptions
		at      time.Time
		want    error
	}{
		"now":             {regtest.KeyOptions{}, time.Now(), nil},
		"in a bubble":     {regtest.KeyOptions{}, bubble, nil},
		"RSA":             {regtest.KeyOptions{RSABits: 2048}, time.Now(), nil},
		"subkey":          {regtest.KeyOptions{Subkey: true}, time.Now(), nil},
		"RSA subkey":      {regtest.KeyOptions{RSABits: 2048, Subkey: true}, bubble, nil},
		"not yet expired": {regtest.KeyOptions{Created: year(2010), Expires: year(2012)}, year(2011), nil},
		"expired since":   {regtest.KeyOptions{Created: year(2010), Expires: year(2012), Signs: year(2011)}, year(2013), pgperrors.ErrKeyExpired},
		"expired before":  {regtest.KeyOptions{Created: year(2010), Expires: year(2012), Signs: year(2013)}, year(2014), pgperrors.ErrKeyExpired},
		"revoked":         {regtest.KeyOptions{Revoked: true}, time.Now(), pgperrors.ErrKeyRevoked},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := regtest.NewKey(test.options)
			sig := key.Sign(document)
			err := check(t, key, document, sig, test.at)
			if test.want == nil && err != nil || test.want != nil && !errors.Is(err, test.want) && !errors.Is(err, pgperrors.ErrUnknownIssuer) {
				t.Errorf("signature: %v, want %v", err, test.want)
			}
			if err := check(t, key, append(document, ' '), sig, test.at); err == nil {
				t.Error("the signature is good for another document")
			}
			if len(key.Fingerprint()) != 40 || key.ID() != key.Fingerprint()[24:] || key.Public().Armor != key.Armor() || key.Public().ID != key.ID() {
				t.Errorf("%s %s %v", key.Fingerprint(), key.ID(), key.Public())
			}
			p, err := packet.Read(bytes.NewReader(sig))
			want := test.options.Signs
			if want.IsZero() && !test.options.Created.IsZero() {
				want = test.options.Created.Add(time.Hour)
			}
			if s, ok := p.(*packet.Signature); err != nil || !ok || !want.IsZero() && !s.CreationTime.Equal(want) {
				t.Errorf("signature packet: %v, %v, want %v", s.CreationTime, err, want)
			}
		})
	}
}

// TestSigner: who signs, and who is listed.
func TestSigner(t *testing.T) {
	t.Parallel()
	one, two := regtest.NewKey(regtest.KeyOptions{Name: "one"}), regtest.NewKey(regtest.KeyOptions{Name: "two"})
	for name, test := range map[string]struct {
		provider regtest.Provider
		signer   *regtest.Key // nil: that of the registry
		listed   []*regtest.Key
	}{
		"nobody named": {regtest.Provider{}, nil, nil},
		"listed":       {regtest.Provider{Keys: []*regtest.Key{one, two}}, one, []*regtest.Key{one, two}},
		"none listed":  {regtest.Provider{Keys: []*regtest.Key{}}, nil, []*regtest.Key{}},
		"other signer": {regtest.Provider{Keys: []*regtest.Key{one}, SignedBy: two}, two, []*regtest.Key{one}},
		"unlisted":     {regtest.Provider{SignedBy: two}, two, nil},
	} {
		reg := regtest.New("registry.example.com")
		test.provider.Address = "acme/alpha"
		rel := reg.AddProvider(test.provider)
		if test.signer == nil {
			test.signer = reg.Key()
		}
		if test.listed == nil {
			test.listed = []*regtest.Key{reg.Key()}
		}
		checkSignature(t, test.signer, rel.Sums(), rel.Signature())
		listed := keys(object(t, reg.Client(), metadataURL("1.0.0", "linux_amd64")))
		if len(listed) != len(test.listed) {
			t.Fatalf("%s: %d keys are listed", name, len(listed))
		}
		for i, key := range test.listed {
			if got := listed[i].(map[string]any); got["key_id"] != key.ID() || got["ascii_armor"] != key.Armor() {
				t.Errorf("%s: key %d is %v", name, i, got)
			}
		}
	}
}

// TestGPG has the real program verify what the registry serves.
func TestGPG(t *testing.T) {
	t.Parallel()
	gpg, err := exec.LookPath("gpg")
	if err != nil {
		t.Skip("skipped: gpg is not installed")
	}
	for name, options := range map[string]regtest.KeyOptions{
		"Ed25519": {}, "RSA": {RSABits: 2048}, "subkey": {Subkey: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := regtest.NewKey(options)
			reg := regtest.New("registry.example.com")
			rel := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Keys: []*regtest.Key{key}})
			// Not t.TempDir: the agent's socket needs a short path.
			home, err := os.MkdirTemp("", "gpg")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(home) })
			for file, data := range map[string][]byte{"key": []byte(key.Armor()), "sums": rel.Sums(), "sig": rel.Signature()} {
				if err := os.WriteFile(filepath.Join(home, file), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run := func(args ...string) string {
				cmd := exec.Command(gpg, append([]string{"--homedir", home, "--batch", "--no-autostart", "--status-fd", "1"}, args...)...)
				cmd.Dir = home
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("gpg %q: %v\n%s", args, err, out)
				}
				return string(out)
			}
			run("--import", "key")
			if out := run("--verify", "sig", "sums"); !strings.Contains(out, "VALIDSIG") || !strings.Contains(out, key.Fingerprint()) {
				t.Errorf("gpg --verify sig:\n%s", out)
			}
		})
	}
}
