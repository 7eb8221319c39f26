// Package vectors has the protocols as test cases in JSON. They are JSON files, for clients in any language;
// this package embeds them for Go. It is experimental.
//
//	data, err := vectors.Files.ReadFile("hosts.json")
//
// Each file has "about", a sentence, and "cases", a list. A case has an input, and the result or "error", the
// kind of error:
//
//	{"input": "a/..", "error": "syntax"}
//
// See https://github.com/tofureg/tofureg/blob/main/testkit/regtest/vectors/README.md.
package vectors
