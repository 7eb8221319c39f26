package vectors

import "embed"

// Files holds the vectors: the files that the package comment lists, and nothing else. It is
// safe for concurrent use.
//
//go:embed *.json
var Files embed.FS
