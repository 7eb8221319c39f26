package workdir_test

import (
	"encoding/json"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/workdir"
)

// Write an inventory in the format CycloneDX: the providers of a lock file, and the modules of a Result.
func Example_inventory() {
	lock, err := lockfile.Parse([]byte(`provider "registry.opentofu.org/hashicorp/aws" {
  version = "5.31.0"
}
`), lockfile.Name)
	if err != nil {
		panic(err)
	}
	result := &workdir.Result{Modules: []workdir.Module{ // of Prepare
		{},
		{Key: "vpc", Source: "registry.opentofu.org/acme/vpc/aws", Version: addrs.MustParseVersion("1.2.0")},
		{Key: "dns", Source: "git::https://example.com/acme/dns.git?ref=v1"},
	}}

	type component struct {
		Type    string `json:"type"`
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
		PURL    string `json:"purl"`
	}
	var components []component
	for e := range lock.All() {
		components = append(components, component{"library", e.Provider.String(), e.Version.String(), e.Provider.PURL(e.Version)})
	}
	for _, m := range result.Modules {
		address, err := module.ParseAddress(m.Source)
		if err != nil {
			continue // the configuration itself
		}
		commit := ""
		if m.Report != nil {
			commit = m.Report.Commit
		}
		if purl := address.PURL(m.Version, commit); purl != "" {
			components = append(components, component{"library", address.String(), m.Version.String(), purl})
		}
	}
	document, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components,
	}, "", "  ")
	if err != nil {
		panic(err)
	}
	fmt.Println(string(document))
	// Output:
	// {
	//   "bomFormat": "CycloneDX",
	//   "components": [
	//     {
	//       "type": "library",
	//       "name": "registry.opentofu.org/hashicorp/aws",
	//       "version": "5.31.0",
	//       "purl": "pkg:terraform/hashicorp/aws@5.31.0?repository_url=registry.opentofu.org"
	//     },
	//     {
	//       "type": "library",
	//       "name": "registry.opentofu.org/acme/vpc/aws",
	//       "version": "1.2.0",
	//       "purl": "pkg:terraform/acme/vpc/aws@1.2.0?repository_url=registry.opentofu.org"
	//     },
	//     {
	//       "type": "library",
	//       "name": "git::https://example.com/acme/dns.git?ref=v1",
	//       "purl": "pkg:generic/dns@v1?vcs_url=git%2Bhttps://example.com/acme/dns.git"
	//     }
	//   ],
	//   "specVersion": "1.6",
	//   "version": 1
	// }
}
