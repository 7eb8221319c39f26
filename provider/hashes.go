package provider

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// HashOptions for [Hashes]. With the zero value every archive is downloaded and must be
// signed.
type HashOptions struct {
	// Policy decides whether a package is accepted; see [Options].
	Policy verify.Policy

	// NoDownload has no archive downloaded: the hashes come from Store or are stated by
	// the source. A platform for which that does not suffice is [verify.ErrNotStated].
	NoDownload bool

	// Packages are packages of this version that are known already, as [Find] returns
	// one: the source is not asked for them again.
	Packages []*Package

	// Store has the hashes of archives that were downloaded before. If nil, none are kept.
	Store HashStore

	// Gate bounds the archives that are in progress at once, together with those of
	// other calls that use it. If nil, this call has a zero [Gate] of its own.
	Gate *Gate

	// TempDir is the directory in which archives lie while they are hashed; if empty,
	// [os.TempDir]. It needs room for as many archives as the Gate lets through.
	TempDir string

	// Progress, if not nil, is called for each step. Calls never overlap, and they hold
	// up the job.
	Progress func(Event)
}

// HashStore keeps the hashes that were computed of archives, by the zh of the archive, so
// that the archive need not be downloaded again for them. Its methods must be safe for
// concurrent use. Package hashstore has one for a directory.
//
// Hashes from a store count as computed, so only users who may write lock files should be
// able to write to it.
type HashStore interface {
	// Hashes returns what is kept for the archive, nil if nothing is.
	Hashes(ctx context.Context, zh checksum.Hash) ([]checksum.Hash, error)

	// StoreHashes keeps the hashes of an archive, in place of what is kept for it. They
	// are all that were computed except the zh: one h1, or two if the archive has
	// entries for directories.
	StoreHashes(ctx context.Context, zh checksum.Hash, hashes []checksum.Hash) error
}

// Hashes returns what a lock file needs to know about version v of p for each of the
// platforms: reports whose [verify.Report.Recordable] hashes cover the archive (zh) and
// its content (h1). If on is empty, all platforms that the source lists for the version are
// meant. The order of on does not matter.
//
// Hashes asks the source for each package, downloads the archive into a private temporary
// file and reads it once more for its h1; nothing is unpacked. Platforms are worked on
// concurrently, within the bounds of o.Gate. The SHA256SUMS document and its signature are
// fetched once for all. Every package is judged by o.Policy, as in [Download]. If the
// source holds a package unpacked, its directory is hashed. Memory use does not depend on
// the size of the packages. Where platforms have SHA256SUMS documents of their own, these may
// have 16 MiB together; the platforms beyond that are ErrTooLarge.
//
// An archive is not downloaded
//
//   - if the source states its zh and o.Store has the h1 of the archive with this zh. The
//     report is the one of a download.
//   - if the policy has RecordStated, and [verify.CheckedSums.JudgeStated] accepts what the
//     source states, with an h1. In such a report Local is empty, and Claimed has what
//     nothing confirms: the source decides what gets into the lock file, even if the zh is
//     signed. A source that states hashes for all platforms is asked for one package.
//
// If a lock file has hashes of p at v already, o.Policy must say so, or a source that was
// taken over adds other archives to it. To verify packages that are locked, set Accept to
// lockfile.File.Accept(p, v). To add platforms, set [verify.Policy.SameRelease] to the same
// hashes: Accept would refuse a package of which the lock file has no hash, such as one of
// another platform in a file with h1 hashes only.
//
// A failure for one platform does not stop the others: the map has all reports that there
// are, and the error joins one [*Error] for each other platform, in their order. Among them
// are ErrNoPlatform for one that the version lacks, and the errors of [Download]. When ctx
// ends, what is known by then is returned beside its error.
func Hashes(ctx context.Context, src Source, p addrs.Provider, v addrs.Version, on []addrs.Platform, o HashOptions) (map[addrs.Platform]*verify.Report, error) {
	h := &hashing{HashOptions: o, src: ShareEvidence(src), provider: p, version: v}
	if err := h.prepare(); err != nil {
		return nil, h.failed(err)
	}
	on, err := h.platforms(ctx, on)
	if err != nil {
		return nil, h.failed(err)
	}
	return h.all(ctx, on)
}

// prepare fills in defaults and refuses packages of something else.
func (h *hashing) prepare() error {
	if h.provider.IsZero() || h.version.IsZero() {
		return errors.New("no provider or no version is given")
	}
	h.asking = semaphore.NewWeighted(maxAsking)
	if h.Gate == nil {
		h.Gate = new(Gate)
	}
	h.Progress = flight.InTurn(h.Progress)
	h.found = make(map[addrs.Platform]answered, len(h.Packages)+1)
	for _, pkg := range h.Packages {
		if pkg == nil || pkg.Platform.IsZero() {
			return errors.New("a package of HashOptions.Packages is nil or has no platform")
		}
		if err := pkg.is(h.provider, h.version, pkg.Platform); err != nil {
			return err
		}
		h.found[pkg.Platform] = answered{pkg, nil}
	}
	return nil
}

// platforms returns those that are wanted, each once.
func (h *hashing) platforms(ctx context.Context, on []addrs.Platform) ([]addrs.Platform, error) {
	if len(on) == 0 {
		versions, err := h.src.ProviderVersions(ctx, h.provider)
		if err != nil {
			return nil, err
		}
		release, ok := versions.Find(h.version)
		if !ok {
			return nil, versions.Unavailable(h.version, addrs.Platform{})
		}
		if len(release.Platforms) == 0 {
			return nil, errors.New("the source does not tell the platforms of this version: name those that are wanted")
		}
		on = release.Platforms
	}
	on = slices.Clone(on)
	slices.SortFunc(on, addrs.Platform.Compare)
	on = slices.Compact(on)
	if on[0].IsZero() {
		return nil, errors.New("a platform is empty")
	}
	return on, nil
}
