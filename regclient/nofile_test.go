package regclient_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestNoFile: a missing file of a package is ErrNoFile, a missing package is not.
func TestNoFile(t *testing.T) {
	t.Parallel()
	for kind, what := range map[regtest.Kind]string{
		regtest.Sums:      "fetch the checksums of registry.example.com/acme/alpha 1.2.0 linux_amd64: ",
		regtest.Signature: "fetch the signature of registry.example.com/acme/alpha 1.2.0 linux_amd64: ",
		regtest.Archive:   "fetch registry.example.com/acme/alpha 1.2.0 linux_amd64: ",
	} {
		for _, status := range []int{404, 410, 403, 500} {
			reg := regtest.New(host)
			reg.AddProvider(alphaAt("1.2.0"))
			reg.AddFault(regtest.Fault{Kind: kind, Status: status})
			_, err := install(t.Context(), client(reg), alpha, filepath.Join(t.TempDir(), "alpha.zip"))
			gone := status == 404 || status == 410
			if errors.Is(err, provider.ErrNoFile) != gone || errors.Is(err, provider.ErrNotFound) != gone || provider.IsFault(err) != (status == 500) {
				t.Errorf("%v, status %d: %v", kind, status, err)
			}
			if e, ok := errors.AsType[*failure.RequestError](err); !ok || e.Status != status || !strings.HasPrefix(err.Error(), what) {
				t.Errorf("%v, status %d: %v", kind, status, err)
			}
		}
	}
	for _, kind := range []regtest.Kind{regtest.Discovery, regtest.Versions, regtest.Package} {
		reg := regtest.New(host)
		reg.AddProvider(alphaAt("1.2.0"))
		reg.AddFault(regtest.Fault{Kind: kind, Status: 404})
		if _, err := install(t.Context(), client(reg), alpha, filepath.Join(t.TempDir(), "alpha.zip")); err == nil || errors.Is(err, provider.ErrNoFile) {
			t.Errorf("%v: Download returned %v, want an error other than ErrNoFile", kind, err)
		}
	}
}
