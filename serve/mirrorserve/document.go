package mirrorserve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/webserve"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func (h *Handler) serveDocument(w http.ResponseWriter, r *http.Request, q request) error {
	return h.server.Document(w, r, "application/json", func(ctx context.Context) ([]byte, error) {
		if !h.limited { // to share it costs more than to read it
			return h.document(ctx, q)
		}
		doc, err := h.documents.Do(ctx, q.documentKey, nil, func(ctx context.Context) (doc document, err error) {
			ctx, marks := webserve.Collect(ctx)
			doc.body, err = h.document(ctx, q)
			doc.marks = marks()
			return doc, err
		})
		webserve.Note(ctx, doc.marks)
		return doc.body, err
	})
}

// document is a document that several requests may share.
type document struct {
	body  []byte
	marks webserve.Mark
}

func (h *Handler) document(ctx context.Context, q request) ([]byte, error) {
	if q.version.IsZero() {
		return h.index(ctx, q.provider)
	}
	return h.version(ctx, q.provider, q.version)
}

// index returns the document that lists the versions of a provider.
func (h *Handler) index(ctx context.Context, p addrs.Provider) ([]byte, error) {
	release, err := h.lists.Acquire(ctx, p.Host(), 1) // until the list is a document
	if err != nil {
		return nil, err
	}
	defer release()
	versions, err := h.listedVersions(ctx, p)
	if err != nil {
		return nil, err
	}
	return h.server.Encode(ctx, func() any {
		list := make(map[string]struct{}, len(versions))
		for _, v := range versions {
			list[v.String()] = struct{}{}
		}
		return map[string]any{"versions": list}
	}, "  ")
}

// version returns the document of a version.
func (h *Handler) version(ctx context.Context, p addrs.Provider, v addrs.Version) ([]byte, error) {
	hashes, err := h.listedArchives(ctx, p, v)
	if err != nil {
		return nil, err
	}
	type archive struct {
		Hashes []checksum.Hash `json:"hashes,omitempty"`
		URL    string          `json:"url"`
	}
	return h.server.Encode(ctx, func() any {
		list := make(map[string]archive, len(hashes))
		for platform, hashes := range hashes {
			q := request{documentKey{p, v}, platform, true}
			list[platform.String()] = archive{hashes, url.PathEscape(q.archiveName()) + h.server.Guard.Query(q.name(), "")}
		}
		return map[string]any{"archives": list}
	}, "  ")
}

func (h *Handler) listedVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	if h.catalogue != nil {
		return h.catalogue.ListedVersions(ctx, p)
	}
	return listedBy(h.source.ProviderVersions(ctx, p))
}

func (h *Handler) listedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	if h.catalogue != nil {
		return h.catalogue.ListedArchives(ctx, p, v)
	}
	versions, err := h.source.ProviderVersions(ctx, p)
	if err != nil {
		return nil, err
	}
	return listArchives(ctx, h.source, versions, p, v, h.Policy.For(p), h.Platforms)
}

// listedBy returns the versions in a list.
func listedBy(versions *provider.Versions, err error) ([]addrs.Version, error) {
	if err != nil {
		return nil, err
	}
	list := make([]addrs.Version, len(versions.Versions))
	for i, r := range versions.Versions {
		list[i] = r.Version
	}
	return list, nil
}

// findListed returns the release of a version that is listed and not held back.
func findListed(versions *provider.Versions, p addrs.Provider, v addrs.Version) (provider.Release, error) {
	if i := slices.IndexFunc(versions.Versions, func(r provider.Release) bool { return r.Version == v }); i >= 0 {
		return versions.Versions[i], nil
	}
	var why error = versions.Unavailable(v, addrs.Platform{})
	exact := addrs.ExactProviderConstraint(v)
	if held := versions.HeldFor(exact, provider.Need{}, addrs.Version{}); len(held) > 0 {
		why = &provider.HeldError{Provider: p, Constraint: exact, Held: held}
	}
	return provider.Release{}, &failure.Error{Op: "find", Subject: p.String() + " " + v.String(), Err: why}
}

// listArchives returns the archives of a listed version with the hashes that the policy permits. It requests the packages for
// platforms if the list has none for the version. It downloads no archive.
func listArchives(ctx context.Context, src provider.Source, versions *provider.Versions, p addrs.Provider, v addrs.Version, policy verify.Policy, platforms []addrs.Platform) (map[addrs.Platform][]checksum.Hash, error) {
	release, err := findListed(versions, p, v)
	if err != nil {
		return nil, err
	}
	s := &statement{
		source: src, policy: policy, provider: p, version: v,
		platforms: release.Platforms, listed: len(release.Platforms) > 0, hashes: map[addrs.Platform][]checksum.Hash{},
	}
	if !s.listed {
		if s.platforms = platforms; len(s.platforms) == 0 {
			s.platforms = commonPlatforms()
		}
	}
	first, err := s.firstPackage(ctx)
	if first == nil || err != nil {
		return s.hashes, err
	}
	return s.hashes, s.setAll(ctx, first)
}

// commonPlatforms are requested if a source does not list platforms.
func commonPlatforms() (list []addrs.Platform) {
	for name := range strings.FieldsSeq("linux_amd64 linux_arm64 linux_386 linux_arm darwin_arm64 darwin_amd64 " +
		"windows_amd64 windows_arm64 windows_386 freebsd_amd64 freebsd_386 freebsd_arm") {
		list = append(list, addrs.MustParsePlatform(name))
	}
	return list
}

// statement finds the hashes of the archives of a version without downloading them.
type statement struct {
	source    provider.Source
	policy    verify.Policy
	provider  addrs.Provider
	version   addrs.Version
	platforms []addrs.Platform // platforms to request
	listed    bool             // whether the source has listed platforms
	asked     atomic.Int32     // packages requested so far

	mu     sync.Mutex
	hashes map[addrs.Platform][]checksum.Hash
}

// firstPackage returns the first package that exists, or nil.
func (s *statement) firstPackage(ctx context.Context) (*provider.Package, error) {
	for i := 0; i < len(s.platforms); i++ {
		pkg, err := s.find(ctx, s.platforms[i])
		if err == nil || !errors.Is(err, provider.ErrNoPlatform) && !errors.Is(err, provider.ErrUnpacked) {
			return pkg, err
		}
		if un, ok := errors.AsType[*provider.UnavailableError](err); ok && !s.listed && len(un.Platforms) > 0 {
			// The error lists the platforms.
			s.platforms, s.listed, i = un.Platforms, true, -1
		}
	}
	return nil, nil
}

// maxAsked is the maximum number of packages that are requested for one document. Clients choose the host, which
// may list any number of platforms.
const maxAsked = 64

// find requests the package for a platform.
func (s *statement) find(ctx context.Context, platform addrs.Platform) (*provider.Package, error) {
	if s.asked.Add(1) > maxAsked {
		return nil, &failure.Error{
			Op: "list archives of", Subject: s.provider.String() + " " + s.version.String(),
			Err: fmt.Errorf("more than %d packages must be requested, one for each platform: %w", maxAsked, failure.ErrTooLarge),
		}
	}
	return findArchive(ctx, s.source, s.provider, s.version, platform)
}

// setAll sets the hashes for all platforms from the SHA256SUMS document.
func (s *statement) setAll(ctx context.Context, first *provider.Package) error {
	ev, err := s.source.Evidence(ctx, first)
	if err != nil {
		return webserve.AsInconsistent(err)
	}
	checked, err := s.policy.CheckSums(ev)
	if err != nil {
		return failure.Wrap("verify", first.String(), err)
	}
	if checked.Sums() == nil {
		return s.setStated(ctx, first)
	}
	listed := linesOf(checked.Sums(), first.Provider, first.Version)
	if !s.listed {
		s.platforms = slices.AppendSeq(s.platforms, maps.Keys(listed))
	}
	for _, platform := range s.platforms {
		lines, ok := listed[platform]
		if !ok {
			continue // the policy refuses it
		}
		for _, line := range lines {
			s.hashes[platform] = hashlist.Sorted(s.hashes[platform], []checksum.Hash{line.zh})
		}
		if claimed := first.Hashes[platform]; checked.SignedBy() == nil {
			if err := s.compareStated(ctx, claimed, lines, checked); err != nil {
				return failure.Wrap("verify", first.String(), err)
			}
			s.hashes[platform] = hashlist.Sorted(s.hashes[platform], claimed)
		}
	}
	if len(s.hashes) == 0 {
		return failure.Wrap("verify", first.String(), fmt.Errorf("%w: nor is any other archive of this version", verify.ErrNotListed))
	}
	return nil
}

// compareStated compares the hashes that the source states with a line of the document.
func (s *statement) compareStated(ctx context.Context, claimed []checksum.Hash, lines []sumsLine, sums verify.CheckedSums) error {
	var err error
	for _, line := range lines {
		_, err = sums.JudgeStated(ctx, verify.Evidence{Filename: line.name, Hashes: claimed})
		if err == nil || errors.Is(err, verify.ErrNotStated) {
			return nil
		}
	}
	return err
}

// sumsLine is a line of a SHA256SUMS document.
type sumsLine struct {
	name string
	zh   checksum.Hash
}

// linesOf returns the lines for archives of a version: one for each platform, or several if an archive
// is listed under several names. A document may also list other files.
func linesOf(sums *verify.Sums, p addrs.Provider, v addrs.Version) map[addrs.Platform][]sumsLine {
	list := map[addrs.Platform][]sumsLine{}
	for name, zh := range sums.All() {
		typ, rest, _ := strings.Cut(name, "_")
		typ = strings.TrimPrefix(strings.TrimPrefix(typ, "terraform-provider-"), "opentofu-provider-")
		of, platform, err := provider.ParseArchiveName(p, "terraform-provider-"+typ+"_"+strings.TrimPrefix(rest, "v"))
		if err == nil && of == v {
			list[platform] = append(list[platform], sumsLine{name, zh})
		}
	}
	return list
}

// setStated sets the hashes that the source states, if possible with one request for all platforms.
func (s *statement) setStated(ctx context.Context, first *provider.Package) error {
	s.setPackage(first)
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
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(webserve.DefaultParallel)
	for _, platform := range missing {
		g.Go(func() error {
			pkg, err := s.find(ctx, platform)
			if errors.Is(err, provider.ErrNoPlatform) || errors.Is(err, provider.ErrUnpacked) {
				return nil
			}
			if err == nil {
				s.setPackage(pkg)
			}
			return err
		})
	}
	return g.Wait()
}

// setPackage sets the hashes that the source states for one package.
func (s *statement) setPackage(pkg *provider.Package) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hashes[pkg.Platform] = pkg.Evidence().Hashes
}
