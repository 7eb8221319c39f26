package mirrordir

// IsLocal reports whether the files are in the file system: whether Store is a [storage.Pather]. Packages then have
// file URLs and may be unpacked.
func (m *Mirror) IsLocal() bool { return m.local() }
