package cliconfig_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/internal/testing/casetest"
)

// TestReattached: the names in TF_REATTACH_PROVIDERS are those of the CLI's default host, and the error for another text does not
// repeat it.
func TestReattached(t *testing.T) {
	t.Parallel()
	for _, c := range casetest.Read[struct {
		Text      string
		Terraform bool
		Want      []string
		Refused   bool
	}](t, "tables/reattached.txt") {
		config, err := cliconfig.Load(t.Context(), cliconfig.System{Home: t.TempDir(), Terraform: c.Terraform, Environ: []string{"TF_REATTACH_PROVIDERS=" + c.Text}})
		if (err != nil) != c.Refused || err != nil && (strings.Contains(err.Error(), "never-shown") || !strings.Contains(err.Error(), "TF_REATTACH_PROVIDERS")) {
			t.Errorf("Load with %q: %v, want an error that names the variable: %t", c.Text, err, c.Refused)
		}
		if err != nil {
			continue
		}
		var want []addrs.Provider
		for _, p := range c.Want {
			want = append(want, addrs.MustParseProvider(p))
		}
		got := config.Installer("x").Reattached
		if slices.SortFunc(want, addrs.Provider.Compare); !slices.Equal(got, want) {
			t.Errorf("Load with %q: Reattached of the Installer is %v, want %v", c.Text, got, want)
		}
	}
}
