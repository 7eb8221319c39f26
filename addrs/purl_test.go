package addrs_test

import (
	"testing"

	"github.com/tofureg/tofureg/addrs"
)

func TestPURL(t *testing.T) {
	t.Parallel()
	version := addrs.MustParseVersion("1.2.0-beta.1+x")
	for _, c := range []struct{ got, want string }{
		{addrs.MustParseProvider("aws").PURL(addrs.MustParseVersion("5.31.0")), "pkg:terraform/hashicorp/aws@5.31.0?repository_url=registry.opentofu.org"},
		{addrs.MustParseProvider("registry.terraform.io/hashicorp/aws").PURL(addrs.Version{}), "pkg:terraform/hashicorp/aws?repository_url=registry.terraform.io"},
		{addrs.MustParseProvider("example.com:8443/acme/demo").PURL(version), "pkg:terraform/acme/demo@1.2.0-beta.1%2Bx?repository_url=example.com:8443"},
		{addrs.MustParseProvider("b\u00fccher.example/\u00fcber/demo").PURL(version), "pkg:terraform/%C3%BCber/demo@1.2.0-beta.1%2Bx?repository_url=xn--bcher-kva.example"},
		{addrs.Provider{}.PURL(version), ""},
		{addrs.MustParseModuleSource("acme/vpc/aws").PURL(version), "pkg:terraform/acme/vpc/aws@1.2.0-beta.1%2Bx?repository_url=registry.opentofu.org"},
		{addrs.MustParseModuleSource("example.com/acme/vpc/aws//modules/a b").PURL(addrs.MustParseVersion("1.0.0")), "pkg:terraform/acme/vpc/aws@1.0.0?repository_url=example.com#modules/a%20b"},
		{addrs.ModuleSource{}.PURL(version), ""},
	} {
		if c.got != c.want {
			t.Errorf("PURL: got %q, want %q", c.got, c.want)
		}
	}
}
