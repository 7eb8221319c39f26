package regcheck_test

import (
	"archive/zip"
	"bytes"
	"slices"
	"testing"

	"github.com/tofureg/tofureg/regclient/regcheck"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestExamineExecutable: an archive without a program that a client would start is no
// package.
func TestExamineExecutable(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"terraform-provider-alpha":            true,
		"terraform-provider-alpha_v1.0.0_x5":  true,
		"terraform-provider-alpha.exe":        true,
		"terraform-provider-alphabet_v1.0.0":  false,
		"bin/terraform-provider-alpha_v1.0.0": false,
		"README.md":                           false,
	} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		if _, err := z.Create(name); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		reg := regtest.New("registry.example.com")
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Zip: b.Bytes()})
		found := regcheck.Examine(t.Context(), exemplaryURL, regcheck.Options{Client: reg.Client(), Provider: "acme/alpha"})
		if want := map[bool][]string{false: {"archive"}}[good]; !slices.Equal(failed(found), want) {
			t.Errorf("%s: found %v", name, found)
		}
	}
}
