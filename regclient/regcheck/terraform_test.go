package regcheck_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/internal/terraformtest"
	"github.com/tofureg/tofureg/regclient/regcheck"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestClientsReadLocations: the check of a location fails exactly if terraform fails. OpenTofu reads the
// body too.
func TestClientsReadLocations(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		for _, answer := range []string{"header", "body", "both"} {
			reg := regtest.New("registry.example.com")
			reg.AddModule(regtest.Module{Address: "acme/network/aws", Answer: answer})
			server := must.Get(reg.ServeTLS())(t)
			defer server.Close()
			found := regcheck.Examine(t.Context(), server.URL, regcheck.Options{Client: server.Client(), Module: "acme/network/aws"})
			fails := slices.Contains(failed(found), "module location")

			project := terraformtest.New(t, program)
			project.Trust(t, server.CertPEM)
			// The clients take a module for one of a registry if its host has a dot.
			source := strings.Replace(server.Addr, "localhost", "127.0.0.1", 1) + "/acme/network/aws"
			project.Write(t, "main.tf", fmt.Sprintf("module \"network\" {\n  source = %q\n}\n", source))
			out, err := project.Try(t, "get", "-no-color")
			if want := fails && project.Name() == "terraform"; (err != nil) != want {
				t.Errorf("%s get with the answer %q: error %v, want one: %t; Examine found %v\n%s", project.Name(), answer, err, want, found, out)
			}
		}
	})
}
