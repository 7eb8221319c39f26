package vectors

import "embed"

// Files has the JSON files that README.md lists. It is safe for concurrent use.
var Files embed.FS
