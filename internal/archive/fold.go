package archive

// Fold returns the same string for names that some file system takes for the same: those
// that differ in case, in canonically equivalent letters, or in letters that are not
// visible.
func Fold(name string) string { return fold(name) }
