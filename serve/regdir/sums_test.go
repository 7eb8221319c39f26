package regdir_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/verify"
)

// TestSumsLines signs SHA256SUMS documents with lines that a publisher was tricked into, and with lines for files
// that are no archives.
func TestSumsLines(t *testing.T) {
	t.Parallel()
	entity := must.Get(openpgp.NewEntity("publisher", "", "publisher@example.com", nil))(t)
	var public bytes.Buffer
	w := must.Get(armor.Encode(&public, openpgp.PublicKeyType, nil))(t)
	must.Do(t, errors.Join(entity.Serialize(w), w.Close()))
	const archive = "terraform-provider-alpha_1.0.0_linux_amd64.zip"
	for line, want := range map[string]string{
		archive + ".sbom.json":                                        "",
		"terraform-provider-alpha_1.0.0_manifest.json":                "manifest.json is not the manifest in SHA256SUMS",
		"../" + archive:                                               "", // the name of another file
		"manifest.json\n":                                             "line 3 is blank, where clients crash",
		"/etc/passwd":                                                 "",
		"terraform-provider-alpha_1.0.0_linux_../../x.zip":            "invalid platform",
		"terraform-provider-alpha_../../x_linux_amd64.zip":            "invalid version",
		"terraform-provider-alpha_1.0.0_linux_arm64.zip":              "set AllowMissing",
		"terraform-provider-alpha_1.1.0_linux_arm64.zip":              "another version",
		"terraform-provider-beta_1.0.0_linux_arm64.zip":               "it is of another provider",
		"Terraform-Provider-alpha_1.0.0_linux_amd64.zip":              "want the name terraform-provider-alpha_1.0.0_linux_amd64.zip",
		"terraform-provider-alpha_1.0.0.zip":                          "is not of the form",
		"terraform-provider-alpha_1.0.0_windows_" + long(33) + ".zip": "invalid platform",
	} {
		rel := dist(t, "1.0.0", 0, "linux_amd64")
		data := must.Get(os.ReadFile(filepath.Join(filepath.Dir(rel.Sums), archive)))(t)
		sums := fmt.Sprintf("%x  %s\n%x  %s\n", sha256.Sum256(data), archive, sha256.Sum256(nil), line)
		var signature bytes.Buffer
		must.Do(t, openpgp.DetachSign(&signature, entity, strings.NewReader(sums), nil))
		write(t, rel.Sums, sums)
		write(t, rel.Sums+".sig", signature.String())
		rel.Keys = []verify.Key{{Armor: public.String()}}
		store := &mirrortest.Bucket{Generations: true}
		_, err := newRegistry(store).PublishProvider(t.Context(), rel)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("PublishProvider with the line %q: %v, want %q", line, err, want)
		}
		if want != "" && len(files(t, store)) > 0 {
			t.Errorf("with the line %q files are written", line)
		}
		if want == "" && wantTrue(t, store) != "1.0.0 linux_amd64" {
			t.Errorf("with the line %q the registry has another list", line)
		}
	}
}

func long(n int) string { return strings.Repeat("a", n) }

// TestLimits checks files at their limits and beyond them.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int64{"sums": scheme.MaxSums, "signature": scheme.MaxSignature, "archive": 8 << 30} {
		for _, size := range []int64{limit, limit + 1} {
			rel := dist(t, "1.0.0", 0, "linux_amd64")
			path := map[string]string{"sums": rel.Sums, "signature": rel.Sums + ".sig", "archive": filepath.Join(filepath.Dir(rel.Sums), "terraform-provider-alpha_1.0.0_linux_amd64.zip")}[name]
			must.Do(t, os.Truncate(path, size))
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // the archive is not hashed to its end
			_, err := newRegistry(&mirrortest.Bucket{Generations: true}).PublishProvider(ctx, rel)
			cancel()
			if errors.Is(err, failure.ErrTooLarge) != (size > limit) {
				t.Errorf("PublishProvider with %d bytes of the %s: %v, want ErrTooLarge beyond %d", size, name, err, limit)
			}
		}
	}
}
