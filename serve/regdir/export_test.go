package regdir

// ParseManifest is for a fuzz test.
var ParseManifest = parseManifest
