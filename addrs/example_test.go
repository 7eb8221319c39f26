package addrs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

func ExampleParseProvider() {
	p, err := addrs.ParseProvider("HashiCorp/aws")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p)
	fmt.Println(p.Display())
	fmt.Println(p == addrs.MustParseProvider("registry.opentofu.org/hashicorp/aws"))
	// Output:
	// registry.opentofu.org/hashicorp/aws
	// hashicorp/aws
	// true
}

func ExampleParseProvider_suggestion() {
	_, err := addrs.ParseProvider("hashicorp/terraform-provider-aws")
	fmt.Println(err)
	var pe *addrs.ParseError
	if errors.As(err, &pe) {
		fmt.Println(pe.Suggestion)
	}
	// Output:
	// invalid provider address "hashicorp/terraform-provider-aws": the type must not start with "terraform-provider-"; did you mean "hashicorp/aws"?
	// hashicorp/aws
}

func ExampleParseProviderIn() {
	host := svchost.MustParse("registry.example.com")
	p, err := addrs.ParseProviderIn(host, "acme/alpha")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p)
	// Output: registry.example.com/acme/alpha
}

func ExampleParseNamespacedProviderIn() {
	host := svchost.MustParse("registry.example.com")
	for _, s := range []string{"hashicorp/null", "null"} {
		p, err := addrs.ParseNamespacedProviderIn(host, s)
		fmt.Println(p, err)
	}
	// Output:
	// registry.example.com/hashicorp/null <nil>
	//  invalid provider address "null": it must be NAMESPACE/TYPE or HOSTNAME/NAMESPACE/TYPE
}

func ExampleVersion_Compare() {
	var list []addrs.Version
	for _, s := range []string{"1.10.0", "1.9", "2.0.0-beta.2", "2.0.0", "2.0.0-beta.11"} {
		v, err := addrs.ParseVersion(s)
		if err != nil {
			fmt.Println(err)
			continue
		}
		list = append(list, v)
	}
	slices.SortFunc(list, addrs.Version.Compare)
	fmt.Println(list)
	fmt.Println("releases:", slices.DeleteFunc(list, addrs.Version.IsPrerelease))
	// Output:
	// [1.9.0 1.10.0 2.0.0-beta.2 2.0.0-beta.11 2.0.0]
	// releases: [1.9.0 1.10.0 2.0.0]
}

func ExampleProviderConstraint_Allows() {
	c, err := addrs.ParseProviderConstraint("~> 5.0, != 5.3")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c)
	for _, s := range []string{"5.2.0", "5.3.0", "5.4.0-beta", "6.0.0"} {
		fmt.Println(s, c.Allows(addrs.MustParseVersion(s)))
	}
	// Output:
	// ~> 5.0, != 5.3.0
	// 5.2.0 true
	// 5.3.0 false
	// 5.4.0-beta false
	// 6.0.0 false
}

func ExampleProviderConstraint_Matcher() {
	c := addrs.MustParseProviderConstraint(">= 1.1, < 2")
	allowed := c.Matcher() // compiled once
	for _, s := range []string{"1.0.0", "1.1.0", "1.2.0", "2.0.0"} {
		if v := addrs.MustParseVersion(s); allowed(v) {
			fmt.Println(v)
		}
	}
	// Output:
	// 1.1.0
	// 1.2.0
}

func ExampleProviderConstraint_And() {
	root := addrs.MustParseProviderConstraint("~> 5.0")
	child := addrs.MustParseProviderConstraint(">= 5.40, ~> 5.0")
	fmt.Println(root.And(child))
	// Output: ~> 5.0, >= 5.40.0
}

func ExampleParseModuleConstraint() {
	for _, s := range []string{"1.0.0-beta", ">= 1.0.0-beta"} {
		c, err := addrs.ParseModuleConstraint(s)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c, c.Allows(addrs.MustParseModuleVersion("v1.0.0-beta")))
	}
	// Output:
	// 1.0.0-beta true
	// >= 1.0.0-beta false
}

func ExampleParseModuleSource() {
	s, err := addrs.ParseModuleSource("terraform-aws-modules/iam/aws//modules/iam-user")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Module)
	fmt.Println(s.Module.Namespace(), s.Module.Name(), s.Module.System(), s.Subdir)
	fmt.Println(s.PURL(addrs.MustParseVersion("5.0.0"))) // for an inventory
	// Output:
	// registry.opentofu.org/terraform-aws-modules/iam/aws
	// terraform-aws-modules iam aws modules/iam-user
	// pkg:terraform/terraform-aws-modules/iam/aws@5.0.0?repository_url=registry.opentofu.org#modules/iam-user
}

// All types marshal to text, so they can be fields and map keys in JSON.
func Example_json() {
	type pin struct {
		Provider  addrs.Provider
		Version   addrs.Version
		Platforms map[addrs.Platform]string
	}
	var p pin
	err := json.Unmarshal([]byte(`{"Provider": "hashicorp/aws", "Version": "5.1", "Platforms": {"linux_amd64": "x"}}`), &p)
	if err != nil {
		log.Fatal(err)
	}
	b, err := json.Marshal(p)
	fmt.Println(string(b), err)
	// Output: {"Provider":"registry.opentofu.org/hashicorp/aws","Version":"5.1.0","Platforms":{"linux_amd64":"x"}} <nil>
}
