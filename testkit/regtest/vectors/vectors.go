package vectors

import "embed"

// Files has the JSON files that README.md lists. It is safe for concurrent use.
//
//go:embed *.json
var Files embed.FS
