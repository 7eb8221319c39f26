package install

import (
	"context"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// unlocked returns those of the other platforms whose hashes the lock file is not known to
// have, by the rule of [Result.Lock]. own are the hashes of the package for this one.
func (j *job) unlocked(ctx context.Context, own []checksum.Hash) []addrs.Platform {
	if !j.locked || len(j.others) == 0 {
		return slices.Clone(j.others)
	}
	if j.archives(ctx, checksum.Sorted(j.lock.Accept(j.s.Provider, j.s.Version), own)) > len(j.others) {
		return nil
	}
	return slices.Clone(j.others)
}

// archives returns the number of archives that have an h1 among the hashes: those that
// Installer.Hashes knows by their zh, and one for each h1 of which it knows no archive.
func (j *job) archives(ctx context.Context, hashes []checksum.Hash) (n int) {
	known := map[checksum.Hash]bool{}
	for _, zh := range checksum.WithScheme(hashes, checksum.SchemeZH) {
		if j.Hashes == nil {
			break
		}
		stored, err := j.Hashes.Hashes(ctx, zh)
		if err != nil {
			j.storeFailed(ctx, err)
			break // one failure says it all
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

// store keeps the hashes of the archive that was downloaded, so that it counts as one
// archive, and need not be downloaded for the lock files of other projects.
func (j *job) store(ctx context.Context, got *Installed) {
	zh := checksum.WithScheme(got.Report.Local, checksum.SchemeZH)
	if j.Hashes == nil || got.Fetched == 0 || len(zh) == 0 {
		return
	}
	h1 := checksum.WithScheme(got.Report.Local, checksum.SchemeH1)
	j.storeFailed(ctx, j.Hashes.StoreHashes(ctx, zh[0], h1))
}

// storeFailed reports the error of a store, which only costs time.
func (j *job) storeFailed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		j.tell(provider.EventStoreFailed, err)
	}
}
