// Package vectors has the protocols as test cases in JSON. They are JSON files, for clients in any language; this
// package embeds them for Go. It is experimental.
//
//	data, err := vectors.Files.ReadFile("hosts.json")
//
// Each file has the properties "about", a sentence, and "cases", a list. A case has an input,
// and either the expected result or "error", the kind of error:
//
//	{"input": "HashiCorp/AWS", "host": "registry.opentofu.org", "namespace": "hashicorp",
//	 "type": "aws", "string": "registry.opentofu.org/hashicorp/aws"}
//	{"input": "a/..", "error": "syntax"}
//
// The files and their properties are described at
// https://github.com/tofureg/tofureg/blob/main/testkit/regtest/vectors/README.md.
package vectors
