package regclient_test

import (
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient/regtest"
)

var (
	network = addrs.MustParseModule(host + "/acme/network/aws")
	v100    = addrs.MustParseModuleVersion("1.0.0")
)

const (
	modulesURL  = "https://" + host + "/v1/modules/"
	locationURL = modulesURL + "acme/network/aws/1.0.0/download"
)

// moduleRegistry has the module network in version 1.0.0, served as m says.
func moduleRegistry(m regtest.Module) *regtest.Registry {
	reg := regtest.New(host)
	m.Address = "acme/network/aws"
	reg.AddModule(m)
	return reg
}

// listing has the module network in these versions.
func listing(versions ...string) *regtest.Registry {
	reg := regtest.New(host)
	for _, v := range versions {
		reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: v})
	}
	return reg
}

// many returns n versions, from 1.0.0 on.
func many(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("1.%d.0", i)
	}
	return list
}

// releases renders versions as "VERSION[ (deprecated: REASON LINK)]".
func releases(v *module.Versions) string {
	var b strings.Builder
	for _, r := range v.List {
		b.WriteString(r.Version.String())
		if d := r.Deprecated; d != nil {
			fmt.Fprintf(&b, " (deprecated: %s %s)", d.Reason, d.Link)
		}
		b.WriteString("\n")
	}
	return b.String()
}
