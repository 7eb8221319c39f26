package install

import (
	"context"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// unlocked returns the other platforms if the lock file may lack hashes of them; see
// [Installer].LockPlatforms. own are the hashes of the package for this platform.
func (j *job) unlocked(ctx context.Context, own []checksum.Hash) []addrs.Platform {
	if !j.locked || len(j.otherPlatforms) == 0 {
		return slices.Clone(j.otherPlatforms)
	}
	if j.countArchives(ctx, checksum.Sorted(j.lock.Accept(j.s.Provider, j.s.Version), own)) > len(j.otherPlatforms) {
		return nil
	}
	return slices.Clone(j.otherPlatforms)
}

// countArchives returns the number of archives that have an h1 among the hashes. Installer.Hashes
// tells which h1 belong to the same archive: one with entries for directories has two. Any other h1
// counts as one archive.
func (j *job) countArchives(ctx context.Context, hashes []checksum.Hash) (n int) {
	known := map[checksum.Hash]bool{}
	for _, zh := range checksum.WithScheme(hashes, checksum.SchemeZH) {
		if j.Hashes == nil {
			break
		}
		stored, err := j.Hashes.Hashes(ctx, zh)
		if err != nil {
			j.reportStoreFailure(ctx, err)
			break // report one failure only
		}
		h1 := checksum.WithScheme(stored, checksum.SchemeH1)
		if checksum.Overlap(h1, hashes) {
			n++
		}
		for _, h := range h1 {
			known[h] = true
		}
	}
	for _, h := range checksum.WithScheme(hashes, checksum.SchemeH1) {
		if !known[h] {
			n++
		}
	}
	return n
}

// storeHashes stores the hashes of the downloaded archive in Installer.Hashes.
func (j *job) storeHashes(ctx context.Context, got *Installed) {
	zh := checksum.WithScheme(got.Report.Local, checksum.SchemeZH)
	if j.Hashes == nil || got.Fetched == 0 || len(zh) == 0 {
		return
	}
	h1 := checksum.WithScheme(got.Report.Local, checksum.SchemeH1)
	j.reportStoreFailure(ctx, j.Hashes.StoreHashes(ctx, zh[0], h1))
}

// reportStoreFailure reports the error of Installer.Hashes, which only costs time.
func (j *job) reportStoreFailure(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		j.sendEvent(provider.EventStoreFailed, err)
	}
}
