package provider

import (
	"context"
	"errors"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/verify"
)

// HashOptions for [Hashes]. With the zero value every archive is downloaded and must be
// signed.
type HashOptions struct {
	Options

	// Packages are packages of this version that are known already, as [Find] returns
	// one: the source is not asked for them again.
	Packages []*Package

	// Store has the hashes of archives that were downloaded before; nil: none are kept.
	Store HashStore

	// Gate bounds the archives that are in progress at once, together with those of
	// other calls that use it; nil: a zero [Gate] for this call alone.
	Gate *Gate

	// TempDir is where an archive lies while it is hashed; empty: [os.TempDir]. There
	// must be room for as many archives as the Gate lets through.
	TempDir string
}

// Hashes returns what a lock file needs to know about version v of p for each of the
// platforms: reports whose [verify.Report.Recordable] hashes cover the archive (zh) and
// its content (h1). No platform at all means all that the source lists for the version.
// The order does not matter, nor do repetitions.
//
// For each platform the source is asked for the package, and its archive comes into a
// private temporary file, while its zh is computed, and is then read once for its
// h1; nothing is unpacked. Platforms are worked on side by side, as far as the Gate of o
// admits; the SHA256SUMS document and its signature are fetched once for all. Every
// platform is judged by the policy of o as in [Download]. Of a package that is unpacked
// the directory is hashed. Memory use does not depend on the size of the packages.
//
// An archive need not be downloaded
//
//   - if the source states its zh and o.Store has the h1 of the archive with this zh.
//     The report is the one of a download then. Whoever can write to the store decides
//     what gets into the lock file.
//   - if the policy has RecordStated, and the source states an h1, and one of the hashes
//     that the policy accepts, and the zh that SHA256SUMS has, as far as the policy looks
//     at these. Whoever controls the source decides then what gets into the lock file,
//     signature or not: that covers the zh only. Often a registry answers for all
//     platforms at once, so only one of them is asked for. In such a report Local is
//     empty; Claimed has what nobody has verified; and Trust is Signed if a signature
//     covers the zh, Accepted if one of the stated hashes is an accepted one, and
//     otherwise Checked.
//
// Where what is stated contradicts the store, the archive is downloaded.
//
// If a lock file has hashes of p at v, set one field of the policy to them. For platforms
// that are locked, set Accept: the packages must be those that are locked. For platforms
// that the lock file lacks, set [verify.Policy.SameRelease]: the packages need a signature,
// and its SHA256SUMS document must list a locked archive. Each report goes into the lock
// file by itself:
//
//	err = lock.Merge(p, v, constraint, report)
//
// One failure does not stop the others: the map has a report for each platform that
// there is one for, and the error joins one [*Error] for each of the others, in their
// order. Among them are ErrNoPlatform for one that the version lacks, and what the policy
// refuses, see [Download]. When ctx ends, what is known by then is returned beside its
// error.
//
// Progress is told of all platforms in turn, from several goroutines but never two at
// once; [EventHashed] is the last of each that succeeds.
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
	h.asking = make(chan struct{}, maxAsking)
	if h.Gate == nil {
		h.Gate = new(Gate)
	}
	if h.Progress != nil {
		h.Progress = flight.InTurn(h.Progress)
	}
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
