package attest_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/attest"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/verify"
)

// Install a provider only if its own repository built the archive at the tag of the version.
func Example() {
	github := publish() // only in this example: a registry, GitHub and a Sigstore instance in memory
	github.attest(good(), github.rel.ZH("linux_amd64"))
	web, trusted := github.web(), sigstore().JSON

	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	v := &attest.Verifier{Root: trusted, Rule: attest.OnGitHub, Bundles: &attest.GitHub{Transport: web}}
	installer := &install.Installer{
		Source: v.Source(&regclient.Client{Transport: web}),
		Dir:    &install.Dir{Path: dir},
		Policy: func(p addrs.Provider) verify.Policy { return verify.Policy{Provenance: v.Provenance(p)} },
	}
	installer.Platform = addrs.MustParsePlatform("linux_amd64")
	result, err := installer.Ensure(context.Background(), install.Requirements{
		addrs.MustParseProvider("acme/demo"): addrs.MustParseProviderConstraint("~> 1.0"),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range result.Selections {
		by := s.Reports[s.Platform].BuiltBy
		fmt.Println(s.Provider, s.Version)
		fmt.Println("built from", by.Repository, "at", by.Ref)
		fmt.Println("by", by.Workflow)
	}
	// Output:
	// registry.opentofu.org/acme/demo 1.2.0
	// built from https://github.com/acme/terraform-provider-demo at refs/tags/v1.2.0
	// by https://github.com/acme/terraform-provider-demo/.github/workflows/release.yml@refs/tags/v1.2.0
}

// A rule of the caller's own: a reusable workflow builds the providers of a company, and others are built as usual.
func ExampleVerifier_Rule() {
	rule := func(p addrs.Provider) attest.Identity {
		id := attest.OnGitHub(p)
		if p.Namespace() == "acme" {
			id.Workflow = "https://github.com/acme/ci/.github/workflows/release.yml"
		}
		return id
	}
	v := &attest.Verifier{Rule: rule} // and further fields
	fmt.Println(v.Rule(addrs.MustParseProvider("acme/demo")).Workflow)
	// Output: https://github.com/acme/ci/.github/workflows/release.yml
}
