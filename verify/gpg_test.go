package verify_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

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
	home, err := os.MkdirTemp("", "gpg")
	if err != nil {
		t.Fatal(err)
	}
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
