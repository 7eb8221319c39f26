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

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/regclient/regtest"
)

var document = []byte("0000  terraform-provider-alpha_1.0.0_linux_amd64.zip\n")

// check checks a signature as the CLI does, at a point in time.
func check(t *testing.T, key *regtest.Key, document, sig []byte, at time.Time) error {
	t.Helper()
	ring := must.Get(openpgp.ReadArmoredKeyRing(strings.NewReader(key.Public().Armor)))(t)
	_, err := openpgp.CheckDetachedSignature(ring, bytes.NewReader(document), bytes.NewReader(sig), &packet.Config{Time: func() time.Time { return at }})
	return err
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
			sig := regtest.New("registry.example.com").AddProvider(regtest.Provider{
				Address: "acme/alpha", SignedBy: key, EditSums: func([]byte) []byte { return document },
			}).Signature()
			err := check(t, key, document, sig, test.at)
			if test.want == nil && err != nil || test.want != nil && !errors.Is(err, test.want) && !errors.Is(err, pgperrors.ErrUnknownIssuer) {
				t.Errorf("signature: %v, want %v", err, test.want)
			}
			if err := check(t, key, append(document, ' '), sig, test.at); err == nil {
				t.Error("the signature is good for another document")
			}
			if len(key.Fingerprint()) != 40 || key.Public().ID != key.Fingerprint()[24:] {
				t.Errorf("fingerprint %s, ID %s", key.Fingerprint(), key.Public().ID)
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
			home := must.Get(os.MkdirTemp("", "gpg"))(t)
			t.Cleanup(func() { os.RemoveAll(home) })
			for file, data := range map[string][]byte{"key": []byte(key.Public().Armor), "sums": rel.Sums(), "sig": rel.Signature()} {
				must.Do(t, os.WriteFile(filepath.Join(home, file), data, 0o600))
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
