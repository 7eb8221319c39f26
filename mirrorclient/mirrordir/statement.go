package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// commonPlatforms are looked for where a source does not list platforms.
var commonPlatforms = sync.OnceValue(func() []addrs.Platform {
	var list []addrs.Platform
	for name := range strings.FieldsSeq("linux_amd64 linux_arm64 linux_386 linux_arm darwin_arm64 darwin_amd64 " +
		"windows_amd64 windows_arm64 windows_386 freebsd_amd64 freebsd_386 freebsd_arm") {
		list = append(list, addrs.MustParsePlatform(name))
	}
	return list
})

// statement finds out what can be stated about the archives of a version without having
// them.
type statement struct {
	*puller
	policy    verify.Policy
	common    []addrs.Platform // that are looked for where none are listed; empty: commonPlatforms
	pkg       provider.Package // only the address; each platform has a copy
	platforms []addrs.Platform // that are looked for
	listed    bool             // the source has listed them

	mu     sync.Mutex
	hashes map[addrs.Platform][]checksum.Hash // what is stated
}

func (s *statement) make(ctx context.Context) (map[addrs.Platform][]checksum.Hash, error) {
	versions, err := s.source.ProviderVersions(ctx, s.pkg.Provider)
	if err != nil {
		return nil, err
	}
	release, ok := versions.Find(s.pkg.Version)
	if !ok {
		return nil, failed("find", Want{Provider: s.pkg.Provider, Version: s.pkg.Version}.String(),
			versions.Unavailable(s.pkg.Version, addrs.Platform{}))
	}
	s.hashes = map[addrs.Platform][]checksum.Hash{}
	s.platforms, s.listed = release.Platforms, len(release.Platforms) > 0
	if !s.listed {
		if s.platforms = s.common; len(s.platforms) == 0 {
			s.platforms = commonPlatforms()
		}
	}
	first, err := s.first(ctx)
	if first == nil || err != nil {
		return s.hashes, err
	}
	return s.hashes, s.all(ctx, first)
}

// first returns the package for the first platform that has one, nil if none has.
func (s *statement) first(ctx context.Context) (*provider.Package, error) {
	for i := 0; i < len(s.platforms); i++ {
		pkg, err := s.find(ctx, s.request(s.platforms[i]))
		if err == nil || !errors.Is(err, provider.ErrNoPlatform) && !errors.Is(err, provider.ErrUnpacked) {
			return pkg, err
		}
		if un, ok := errors.AsType[*provider.UnavailableError](err); ok && !s.listed && len(un.Platforms) > 0 {
			// Now it has told them.
			s.platforms, s.listed, i = un.Platforms, true, -1
		}
	}
	return nil, nil
}

func (s *statement) request(platform addrs.Platform) request {
	return request{documentKey{s.pkg.Provider, s.pkg.Version}, platform, true}
}

// all fills in what is stated about the archives for all platforms. One SHA256SUMS
// document is about all of them.
func (s *statement) all(ctx context.Context, first *provider.Package) error {
	ev, err := s.source.Evidence(ctx, first)
	if err != nil {
		return promised(err)
	}
	checked, err := s.policy.CheckSums(ev)
	if err != nil {
		return failed("verify", first.String(), err)
	}
	sums, by := checked.Sums(), checked.SignedBy()
	if sums == nil {
		return s.claims(ctx, first)
	}
	signed := sumsOf(sums, first.Provider, first.Version)
	if !s.listed {
		for platform := range signed {
			s.platforms = append(s.platforms, platform)
		}
	}
	for _, platform := range s.platforms {
		zh, ok := signed[platform]
		if !ok {
			continue // the policy would refuse it
		}
		s.hashes[platform] = zh
		if claimed := first.Hashes[platform]; by == nil || s.policy.RecordStated {
			if err := agree(claimed, zh); err != nil {
				return failed("verify", first.String(), err)
			}
			s.hashes[platform] = hashSet(slices.Concat(claimed, zh))
		}
	}
	if len(s.hashes) == 0 {
		return failed("verify", first.String(), fmt.Errorf("%w: nor is any other archive of this version", verify.ErrNotListed))
	}
	return nil
}

// agree makes sure that what is stated twice is the same.
func agree(claimed, zh []checksum.Hash) error {
	for _, h := range claimed {
		if h.Scheme() == checksum.SchemeZH && !slices.Contains(zh, h) {
			return &checksum.MismatchError{Source: "SHA256SUMS", Want: zh, Got: []checksum.Hash{h}}
		}
	}
	return nil
}

// sumsOf returns the digests of the archives of a version: one for each platform, unless
// an archive is listed under several names. A document may also list other files, and
// those of other versions.
func sumsOf(sums *verify.Sums, p addrs.Provider, v addrs.Version) map[addrs.Platform][]checksum.Hash {
	list := map[addrs.Platform][]checksum.Hash{}
	for name, zh := range sums.All() {
		stem, ok := strings.CutSuffix(name, archiveSuffix)
		parts := strings.Split(stem, "_")
		if !ok || len(parts) != 4 || strings.TrimPrefix(parts[1], "v") != v.String() {
			continue
		}
		if !strings.EqualFold(strings.TrimPrefix(parts[0], archivePrefix), p.Type()) &&
			!strings.EqualFold(strings.TrimPrefix(parts[0], "opentofu-provider-"), p.Type()) {
			continue
		}
		if platform, err := addrs.NewPlatform(parts[2], parts[3]); err == nil {
			list[platform] = hashSet(append(list[platform], zh))
		}
	}
	return list
}

// claims takes the word of the source: for all platforms at once if it has given it, and
// otherwise for each by itself.
func (s *statement) claims(ctx context.Context, first *provider.Package) error {
	s.claim(first)
	for platform, list := range first.Hashes {
		if platform != first.Platform && len(list) > 0 && (!s.listed || slices.Contains(s.platforms, platform)) {
			s.hashes[platform] = list
		}
	}
	var missing []addrs.Platform
	for _, platform := range s.platforms {
		if _, ok := s.hashes[platform]; !ok {
			missing = append(missing, platform)
		}
	}
	errs := make([]error, len(missing))
	inParallel(s.parallel, len(missing), func(i int) {
		pkg, err := s.find(ctx, s.request(missing[i]))
		switch {
		case err == nil:
			s.claim(pkg)
		case !errors.Is(err, provider.ErrNoPlatform) && !errors.Is(err, provider.ErrUnpacked):
			errs[i] = err
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// claim notes what the source says about one package.
func (s *statement) claim(pkg *provider.Package) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hashes[pkg.Platform] = pkg.Evidence().Hashes
}
