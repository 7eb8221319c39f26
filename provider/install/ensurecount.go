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

// archives returns of how many archives there is an h1 among the hashes: those that
// Installer.Hashes knows by their zh, and one for each h1 that it does not know.
func (j *job) archives(ctx context.Context, hashes []checksum.Hash) (n int) {
	left := map[checksum.Hash]bool{}
	for _, h := range hashes {
		left[h] = h.Scheme() == checksum.SchemeH1
	}
	for _, zh := range hashes {
		if zh.Scheme() != checksum.SchemeZH || j.Hashes == nil {
			continue
		}
		kept, err := j.Hashes.Hashes(ctx, zh)
		if err != nil {
			j.storeFailed(ctx, err)
			break // one failure says it all
		}
		kept = slices.DeleteFunc(slices.Clone(kept), func(h checksum.Hash) bool { return h.Scheme() != checksum.SchemeH1 || !slices.Contains(hashes, h) })
		if len(kept) > 0 {
			n++
		}
		for _, h := range kept {
			left[h] = false
		}
	}
	for _, counts := range left {
		if counts {
			n++
		}
	}
	return n
}

// store keeps what was computed of the archive that was downloaded, so that it counts as
// one, and those who want its hashes elsewhere need not download it.
func (j *job) store(ctx context.Context, got *Installed) {
	if j.Hashes == nil || got.Fetched == 0 {
		return
	}
	var zh checksum.Hash
	var others []checksum.Hash
	for _, h := range got.Report.Local {
		if h.Scheme() == checksum.SchemeZH {
			zh = h
		} else {
			others = append(others, h)
		}
	}
	j.storeFailed(ctx, j.Hashes.StoreHashes(ctx, zh, others))
}

// storeFailed tells of a store that only costs time by that.
func (j *job) storeFailed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		j.tell(provider.EventStoreFailed, err)
	}
}
