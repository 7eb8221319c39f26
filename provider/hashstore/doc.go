// Package hashstore keeps hashes of archives between runs, so that each archive is downloaded only once. It is meant for
// 1.0.
//
//	store := &hashstore.Dir{Path: filepath.Join(cacheDir, "tofureg", "hashes")}
//	reports, err := provider.Hashes(ctx, src, p, version, platforms, provider.HashOptions{Store: store})
//
// Lock files record stored hashes: only users who may write them should be able to write to the directory.
package hashstore
