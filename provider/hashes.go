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

// HashOptions are the options of [Hashes].
type HashOptions struct {
	// Policy decides whether a package is accepted; see [Options].
	Policy verify.Policy

	// Stated makes the h1 that a registry states replace a download, if [verify.Report.Stated] has
	// it: a lock file records it anyway. It has no effect on other sources and locked versions.
	Stated bool

	// NoDownload makes platforms that need a download fail with [verify.ErrNotStated].
	NoDownload bool

	// Packages are known packages of this version, for example from [Find].
	Packages []*Package

	// Store, if not nil, stores the hashes of downloaded archives.
	Store HashStore

	// Limiter bounds archives in progress and documents together with those of other calls. If nil,
	// a zero [Limiter] is used.
	Limiter *Limiter

	// TempDir is the directory of temporary archives. If empty, [os.TempDir] is used.
	TempDir string

	// Progress, if not nil, is called for each step. Calls never overlap.
	Progress func(Event)
}

// HashStore stores the hashes of archives, so that an archive is downloaded only once. Its
// methods must be safe for concurrent use. Only users who may write the lock files should be
// able to write to it. See package [github.com/tofureg/tofureg/provider/hashstore].
type HashStore interface {
	// Hashes returns the stored hashes of the archive with this zh, or nil.
	Hashes(ctx context.Context, zh checksum.Hash) ([]checksum.Hash, error)

	// StoreHashes replaces the stored hashes of the archive. There are two h1 if the archive
	// has entries for directories.
	StoreHashes(ctx context.Context, zh checksum.Hash, hashes []checksum.Hash) error
}

// Hashes returns what a lock file records about p at v: a report for each platform, whose
// [verify.Report.Recordable] has the hash of the archive (zh) and of its content (h1). If on is
// empty, all listed platforms are used.
//
// Hashes downloads each archive into a temporary file, hashes it and judges it by o.Policy, as
// [Download] does. It hashes an unpacked package in its directory. An archive is not
// downloaded if
//
//   - o.Store has the h1 for the zh that the source states, or
//   - o.Stated is set, and the policy accepts the stated hashes and lets a lock file record
//     their h1; see [verify.CheckedSums.JudgeStated].
//
// If a lock file covers p at v, pass its hashes in o.Policy: as
// [verify.Policy.Accept] to verify locked packages, or [verify.Policy.SameRelease] to add
// platforms. A lock file with only h1 hashes needs both: the report of a locked platform has
// hashes for SameRelease.
//
// A failure for one platform does not stop the others. The map has all reports, and the error
// joins one [*Error] for each failed platform, in order. If ctx ends, the error is the error of
// ctx. The SHA256SUMS documents and keys of all platforms together, without equal ones, have at most
// 16 MiB, with those of other calls that share o.Limiter; beyond it the call stops with [github.com/tofureg/tofureg/failure.ErrTooLarge]
// and no report.
func Hashes(ctx context.Context, src Source, p addrs.Provider, v addrs.Version, on []addrs.Platform, o HashOptions) (map[addrs.Platform]*verify.Report, error) {
	h := &hashing{HashOptions: o, src: ShareEvidence(src), provider: p, version: v, keys: map[string]string{}}
	if err := h.prepare(); err != nil {
		return nil, h.failed(err)
	}
	on, err := h.platforms(ctx, on)
	if err != nil {
		return nil, h.failed(err)
	}
	return h.hashAll(ctx, on)
}

// prepare sets defaults and checks the arguments.
func (h *hashing) prepare() error {
	if h.provider.IsZero() || h.version.IsZero() {
		return errors.New("the provider or the version is missing")
	}
	h.asking = semaphore.NewWeighted(maxAsking)
	if h.Limiter == nil {
		h.Limiter = new(Limiter)
	}
	h.Limiter.setup()
	h.Progress = flight.InTurn(h.Progress)
	h.found = make(map[addrs.Platform]answered, len(h.Packages)+1)
	for _, pkg := range h.Packages {
		if pkg == nil || pkg.Platform.IsZero() {
			return errors.New("a package in HashOptions.Packages is nil or has no platform")
		}
		if err := pkg.checkIs(h.provider, h.version, pkg.Platform); err != nil {
			return err
		}
		h.found[pkg.Platform] = answered{pkg, nil}
	}
	return nil
}

// platforms returns the platforms to hash, each once.
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
			return nil, errors.New("the source does not list the platforms of this version; name them in the call")
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
