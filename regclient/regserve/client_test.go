package regserve_test

import (
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/terraformtest"
	"github.com/tofureg/tofureg/regclient/regserve"
)

// Both real clients install a provider and a module through a Handler, and lock the
// provider as signed.
func TestRealClients(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		_, h := origin(t)
		server := serve(t, &regserve.Handler{Providers: h.Providers, Modules: h.Modules, Host: h.Host, StreamModules: true})
		project := terraformtest.New(t, program)
		project.Trust(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
		host := strings.TrimPrefix(server.URL, "https://")
		project.Write(t, "main.tf", fmt.Sprintf(`
terraform {
  required_providers {
    alpha = { source = "%[1]s/acme/alpha", version = "~> 1.0" }
  }
}
module "network" { source = "%[1]s/acme/network/aws" }
`, host))
		out := project.Init(t)
		if !strings.Contains(out, "Installed "+host+"/acme/alpha v1.1.0 (") {
			t.Errorf("init did not say that it has installed acme/alpha 1.1.0, signed:\n%s", out)
		}
		if lock := project.Read(t, ".terraform.lock.hcl"); strings.Count(lock, `"zh:`) != 2 {
			t.Errorf("the lock file lacks the signed hashes of both platforms:\n%s", lock)
		}
		if modules := project.Read(t, ".terraform/modules/modules.json"); !strings.Contains(modules, "acme/network/aws") {
			t.Errorf("the module is not installed: %s", modules)
		}
	})
}
