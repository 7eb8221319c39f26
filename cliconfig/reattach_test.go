package cliconfig_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
)

// TestReattached: the names in TF_REATTACH_PROVIDERS are those of the CLI's default host, and the error for another text does not
// repeat it.
func TestReattached(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text      string
		terraform bool
		want      []string
		refused   bool
	}{
		{"", false, nil, false},
		{"{}", false, nil, false},
		{`{"b/x":{"Protocol":"grpc","Pid":1,"Addr":{"Network":"unix"}},"aws":{}}`, false, []string{"b/x", "hashicorp/aws"}, false},
		{`{"aws":{}}`, true, []string{"registry.terraform.io/hashicorp/aws"}, false},
		{`{"example.com/a/b":{}}`, true, []string{"example.com/a/b"}, false},
		{`["aws"]`, false, nil, true},
		{`{"aws":"never-shown"`, false, nil, true},
		{`{"a/b/c/d/e":{}}`, false, nil, true},
	} {
		config, err := cliconfig.Load(t.Context(), cliconfig.System{Home: t.TempDir(), Terraform: c.terraform, Environ: []string{"TF_REATTACH_PROVIDERS=" + c.text}})
		if (err != nil) != c.refused || err != nil && (strings.Contains(err.Error(), "never-shown") || !strings.Contains(err.Error(), "TF_REATTACH_PROVIDERS")) {
			t.Errorf("Load with %q: %v, want an error that names the variable: %t", c.text, err, c.refused)
		}
		if err != nil {
			continue
		}
		var want []addrs.Provider
		for _, p := range c.want {
			want = append(want, addrs.MustParseProvider(p))
		}
		got := config.Installer("x").Reattached
		if slices.SortFunc(want, addrs.Provider.Compare); !slices.Equal(got, want) {
			t.Errorf("Load with %q: Reattached of the Installer is %v, want %v", c.text, got, want)
		}
	}
}
