package cooldown_test

import (
	"time"

	"github.com/tofureg/tofureg/testkit/regtest"
)

// today is the time of the example, and internet has the registries: a public one and that of the company.
var (
	today    = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	internet = func() *regtest.Registry {
		reg := regtest.New("registry.opentofu.org")
		for _, host := range []string{"registry.opentofu.org", "example.com"} {
			reg.AddModule(regtest.Module{Address: host + "/acme/network/aws", Version: "1.0.0", Discovered: "2026-04-14T00:00:00Z"})
			reg.AddModule(regtest.Module{Address: host + "/acme/network/aws", Version: "1.1.0", Discovered: "2026-11-27T11:00:00Z"})
		}
		return reg
	}()
)
