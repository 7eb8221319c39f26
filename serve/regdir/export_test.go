package regdir

// ParseManifest is for a fuzz test.
var ParseManifest = parseManifest

// SetNonce makes the names of uploads and the serials of documents predictable.
func SetNonce(r *Registry, nonce func() string) { r.nonce = nonce }
