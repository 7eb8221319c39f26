package provider_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// TestEmptyEvidence: an empty SHA256SUMS document or signature is not a missing one.
func TestEmptyEvidence(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]regtest.Kind{"sums": regtest.Sums, "signature": regtest.Signature} {
		reg, _, client := serveDemo(demoRelease())
		reg.AddFault(regtest.Fault{Kind: kind, Raw: []byte{}})
		pkg := must(client.ProviderPackage(t.Context(), demo, v123, linux))(t)
		path := target(t)
		shared := provider.ShareEvidence(client) // asked three times, the third time from memory
		for _, policy := range []verify.Policy{{}, {AllowUnsigned: true}, {AllowUnchecked: true}} {
			if _, err := provider.Download(t.Context(), shared, pkg, path, provider.Options{Policy: policy}); !errors.Is(err, verify.ErrEmpty) {
				t.Errorf("Download with empty %s and %+v: %v, want ErrEmpty", name, policy, err)
			}
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Download with empty %s left a file: %v", name, err)
		}
	}
}
