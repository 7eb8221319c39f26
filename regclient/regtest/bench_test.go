package regtest_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestConcurrency is for the race detector.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			rel := reg.AddProvider(regtest.Provider{Address: fmt.Sprintf("acme/p%d", i%2), Size: 100, PackageHashes: true})
			reg.AddFault(regtest.Fault{Kind: regtest.Versions, First: 1, Edit: func(map[string]any) {}})
			reg.Require("secret", regtest.Other)
			mod := reg.AddModule(regtest.Module{Address: fmt.Sprintf("acme/m%d/aws", i%2), Size: 100, Checksum: true})
			for _, url := range []string{
				base + "/.well-known/terraform.json", listURL, metadataURL("1.0.0", "linux_amd64"),
				base + "/v1/modules/acme/m0/aws/versions", base + "/v1/modules/acme/m1/aws/1.0.0/download", base + mod.Path(),
				reg.MirrorURL() + "registry.example.com/acme/p0/index.json", reg.MirrorURL() + "registry.example.com/acme/p0/1.0.0.json",
				base + "/v1/providers/acme/p0/1.0.0/download/linux/amd64", base + "/v1/providers/acme/p1/1.0.0/download/linux/amd64",
			} {
				if _, err := try(t.Context(), reg.Client(), "GET", url); err != nil {
					t.Error(err)
				}
			}
			_, _, _ = rel.Sums(), rel.Signature(), rel.H1("linux_amd64")
			_, _ = mod.H1(), mod.Checksum()
			_, _ = reg.Requests(), reg.Count(0)
			if i == 7 {
				reg.ClearFaults()
				reg.Reset()
			}
		})
	}
	wg.Wait()
}
