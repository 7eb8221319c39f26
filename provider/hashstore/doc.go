// Package hashstore keeps hashes of provider archives in a directory, so that a program
// that writes lock files for many platforms downloads each archive only once in a
// machine's life:
//
//	store := &hashstore.Dir{Path: filepath.Join(cacheDir, "tofureg", "hashes")}
//	reports, err := provider.Hashes(ctx, src, p, version, platforms, provider.HashOptions{Store: store})
//
// A [Dir] has a small file for each archive, named after the SHA-256 of the archive (its
// zh), with the hashes of its content (h1). Both are functions of the same bytes, so a file
// never becomes wrong, and any number of processes may share a directory.
//
// Whoever can write to the directory decides what the lock files say, and with that, which
// packages are later accepted. It belongs beside the lock files in trust: in a directory
// of the user, never in one that all users of a machine can write to.
//
// What is read is checked for form, for the archive that it is about, and by a checksum
// against decay; that is no protection against forgery. Files are read up to 16 KiB.
package hashstore
