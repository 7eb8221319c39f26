package vectors

import "embed"

// Files holds the vectors: the JSON files that README.md lists, and nothing else. It is safe
// for concurrent use.
//
//go:embed *.json
var Files embed.FS
