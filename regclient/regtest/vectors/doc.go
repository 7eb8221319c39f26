// Package vectors is the protocols of OpenTofu and Terraform registries as examples: what
// goes in, and what a client must make of it. The examples are JSON files, so that clients
// in any language can be tested with them; this package embeds them for those in Go:
//
//	data, err := vectors.Files.ReadFile("hosts.json")
//
// Each file is an object with the properties "about", a sentence, and "cases", a list. A
// case has its input, and either "error", the kind of error that a client must report, or
// the properties of the result:
//
//	{"input": "HashiCorp/AWS", "host": "registry.opentofu.org", "namespace": "hashicorp",
//	 "type": "aws", "string": "registry.opentofu.org/hashicorp/aws"}
//	{"input": "a/..", "error": "syntax"}
//
// There are hostnames, addresses, versions, constraints, discovery documents, the documents
// of registries and mirrors, locations of modules, SHA256SUMS documents, hashes, archives and
// lock files. The README.md beside the files describes all properties and kinds of errors:
// https://github.com/tofureg/tofureg/blob/main/regclient/regtest/vectors/README.md.
package vectors
