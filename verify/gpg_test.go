package verify_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/verify"
)

// gpg runs the program in a home of its own, which is gone after the test.
type gpg struct {
	t    *testing.T
	home string
}

func newGPG(t *testing.T) *gpg {
	t.Helper()
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("skipped: gpg is not installed")
	}
	// Not t.TempDir: the agent's socket has its path in here, and paths of sockets
	// are short.
	home := must.Get(os.MkdirTemp("", "gpg"))(t)
	g := &gpg{t, home}
	t.Cleanup(func() {
		kill := exec.Command("gpgconf", "--kill", "gpg-agent")
		kill.Env = append(os.Environ(), "GNUPGHOME="+home)
		_ = kill.Run()
		_ = os.RemoveAll(home)
	})
	return g
}

func (g *gpg) run(stdin []byte, args ...string) []byte {
	g.t.Helper()
	cmd := exec.Command("gpg", append([]string{"--batch", "--quiet", "--no-tty", "--pinentry-mode", "loopback", "--passphrase", ""}, args...)...)
	cmd.Env = append(os.Environ(), "GNUPGHOME="+g.home)
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		g.t.Fatalf("gpg %q: %v\n%s", args, err, errs.Bytes())
	}
	return out.Bytes()
}

// What the installed gpg makes today is understood, not only what is in testdata.
func TestInstalledGPG(t *testing.T) {
	t.Parallel()
	g := newGPG(t)
	doc := []byte("a document of SHA256SUMS, say\n")
	for _, algo := range []string{"ed25519", "rsa2048"} {
		g.run(nil, "--quick-generate-key", algo+"@example.com", algo, "sign", "1y")
		key := verify.Key{Armor: string(g.run(nil, "--armor", "--export", "<"+algo+"@example.com>"))}
		binary := g.run(doc, "--local-user", "<"+algo+"@example.com>", "--detach-sign")
		armored := g.run(doc, "--local-user", "<"+algo+"@example.com>", "--armor", "--detach-sign")
		for _, sig := range [][]byte{binary, armored} {
			got, err := verify.CheckSignature(doc, sig, []verify.Key{key}, time.Now())
			if err != nil {
				t.Errorf("%s: %v", algo, err)
			} else if got.UserID != algo+"@example.com" {
				t.Errorf("%s: signed by %q", algo, got.UserID)
			}
			if _, err := verify.CheckSignature(append(doc, '!'), sig, []verify.Key{key}, time.Now()); !errors.Is(err, verify.ErrBadSignature) {
				t.Errorf("%s, altered document: %v", algo, err)
			}
			later := time.Now().AddDate(2, 0, 0)
			if got, err := verify.CheckSignature(doc, sig, []verify.Key{key}, later); err != nil || !got.KeyExpired {
				t.Errorf("%s, two years later: %+v, %v", algo, got, err)
			}
		}
	}
}

// What the installed gpg revokes, limits and merges is seen as such, and one copy of a key
// speaks for the others.
func TestInstalledGPGStates(t *testing.T) {
	t.Parallel()
	g := newGPG(t)
	const user = "<owner@example.com>"
	doc := []byte("line\nline\n")
	g.run(nil, "--quick-generate-key", "owner@example.com", "ed25519", "cert,sign", "1y")
	fpr := g.fingerprints(user)[0]
	g.run(nil, "--quick-add-key", fpr, "ed25519", "sign", "1m")
	sub := g.fingerprints(user)[1]
	export := func(key string, options ...string) verify.Key {
		return verify.Key{Armor: string(g.run(nil, append(options, "--armor", "--export", key)...))}
	}
	sign := func(by string, options ...string) []byte {
		return g.run(doc, append(options, "--local-user", by+"!", "--detach-sign")...)
	}
	bySub, byPrimary := sign(sub), sign(fpr)
	listed, primaryOnly := export(user), export(fpr+"!")
	later := time.Now().AddDate(0, 2, 0)

	for name, tt := range map[string]struct {
		sig  []byte
		keys []verify.Key
		at   time.Time
		want error
	}{
		"by the primary key":   {byPrimary, []verify.Key{primaryOnly}, time.Time{}, nil},
		"by the subkey":        {bySub, []verify.Key{listed}, time.Time{}, nil},
		"subkey expired since": {bySub, []verify.Key{listed}, later, nil},
		"subkey not listed":    {bySub, []verify.Key{primaryOnly}, time.Time{}, verify.ErrUnknownKey},
		"text":                 {sign(sub, "--textmode"), []verify.Key{listed}, time.Time{}, nil},
		"critical notation":    {sign(sub, "--sig-notation", "!x@example.com=y"), []verify.Key{listed}, time.Time{}, verify.ErrBadSignature},
		"notation":             {sign(sub, "--sig-notation", "x@example.com=y"), []verify.Key{listed}, time.Time{}, nil},
		"SHA-1":                {sign(sub, "--digest-algo", "SHA1"), []verify.Key{listed}, time.Time{}, verify.ErrWeak},
		"limited":              {sign(sub, "--default-sig-expire", "1d"), []verify.Key{listed}, time.Time{}, nil},
		"limit passed":         {sign(sub, "--default-sig-expire", "1d"), []verify.Key{listed}, later, verify.ErrExpired},
		"both":                 {append(sign(sub), sign(fpr)...), []verify.Key{primaryOnly}, time.Time{}, nil},
		"message":              {g.run(doc, "--local-user", sub+"!", "--sign"), []verify.Key{listed}, time.Time{}, verify.ErrBadSignature},
		"uncompressed message": {g.run(doc, "-z", "0", "--local-user", sub+"!", "--sign"), []verify.Key{listed}, time.Time{}, verify.ErrBadSignature},
		"clear-signed message": {g.run(doc, "--local-user", sub+"!", "--clear-sign"), []verify.Key{listed}, time.Time{}, verify.ErrBadSignature},
	} {
		wantSignature(t, name, doc, tt.sig, tt.keys, tt.at, tt.want)
	}

	// gpg made the revocation together with the key, and disarmed it by a colon.
	revocation := must.Get(os.ReadFile(filepath.Join(g.home, "openpgp-revocs.d", fpr+".rev")))(t)
	g.run(bytes.ReplaceAll(revocation, []byte("\n:---"), []byte("\n---")), "--import")
	for name, revoked := range map[string]verify.Key{
		"whole": export(user), "minimal": export(user, "--export-options", "export-minimal"), "without subkeys": export(fpr + "!"),
	} {
		for signer, sig := range map[string][]byte{"primary": byPrimary, "subkey": bySub} {
			wantSignature(t, fmt.Sprintf("%s copy revoked, signed by the %s", name, signer), doc, sig, []verify.Key{listed, revoked}, time.Time{}, verify.ErrRevoked)
		}
	}
}

// fingerprints returns those of the user's key and its subkeys.
func (g *gpg) fingerprints(user string) (list []string) {
	g.t.Helper()
	for line := range strings.Lines(string(g.run(nil, "--with-colons", "--fingerprint", "--fingerprint", "--list-keys", user))) {
		if fields := strings.Split(line, ":"); fields[0] == "fpr" {
			list = append(list, fields[9])
		}
	}
	return list
}
