package mirrorclient_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// TestUnselectableVersion checks that a list with version 0.0.0 has one warning.
func TestUnselectableVersion(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	for _, version := range []string{"0.0.0", "0.0.1", "0.0.0-beta"} {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: version, Platforms: []string{"linux_amd64"}})
	}
	client := &mirrorclient.Client{Transport: &transport.Client{HTTP: reg.Client()}, BaseURL: reg.MirrorURL()}
	versions, err := client.ProviderVersions(t.Context(), addrs.MustParseProvider("registry.example.com/acme/alpha"))
	if err != nil {
		t.Fatal(err)
	}
	about := func(text string) bool {
		return strings.Contains(text, "no constraint selects the listed version 0.0.0")
	}
	if len(versions.List) != 3 || len(versions.Warnings) != 1 || !slices.ContainsFunc(versions.Warnings, about) {
		t.Errorf("ProviderVersions returned %v with the warnings %q, want three versions and a warning about 0.0.0", versions.List, versions.Warnings)
	}
}
