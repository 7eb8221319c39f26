package regclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
)

// ProviderVersions lists the versions of p, newest first. Invalid versions and duplicates are ignored, with a warning.
func (c *Client) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	const op = "list versions of"
	r, err := c.providerRequest(ctx, p, "versions")
	if err != nil {
		return nil, source.Failed(op, p.String(), err)
	}
	versions, err := c.versions.Get(ctx, c.http, r, (*provider.Versions).Clone, func(_ context.Context, resp *httpx.Response) (*provider.Versions, error) {
		return decodeVersions(resp)
	})
	if err != nil {
		return nil, source.Failed(op, p.String(), source.PerhapsUnknown(err, "provider"))
	}
	versions.Provider = p
	return versions, nil
}

// Limits within a versions document.
const (
	maxPlatforms = 1000 // of one version
	maxProtocols = 100  // of one version
)

// The wire form. It has values, not pointers, so a null element is an empty one. P is the type of platforms.
type (
	wireVersions[P any] struct {
		Versions []wireVersion[P] `json:"versions"`
		Warnings []string         `json:"warnings"`
	}
	wireVersion[P any] struct {
		Version    string      `json:"version"`
		Protocols  []string    `json:"protocols"`
		Platforms  P           `json:"platforms"`
		Discovered source.Time `json:"discovered"`
	}
	wirePlatform struct {
		OS   string `json:"os"`
		Arch string `json:"arch"`
	}
)

func decodeVersions(resp *httpx.Response) (*provider.Versions, error) {
	doc, err := source.DecodeList[wireVersions[[]wirePlatform]](resp)
	var notes httpx.Notes
	// The CLI does not read platforms, so it works with registries that send them in another form.
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && strings.HasPrefix(wrong.Field, "versions.platforms") {
		notes.Add("ignored the platforms of all versions: they are not as the protocol describes")
		bare, e := source.DecodeList[wireVersions[json.RawMessage]](resp)
		if e != nil {
			return nil, e
		}
		doc, err = &wireVersions[[]wirePlatform]{Warnings: bare.Warnings}, nil
		for _, v := range bare.Versions {
			doc.Versions = append(doc.Versions, wireVersion[[]wirePlatform]{Version: v.Version, Protocols: v.Protocols, Discovered: v.Discovered})
		}
	}
	if err != nil {
		return nil, err
	}
	for _, text := range doc.Warnings {
		notes.Add(text)
	}
	releases := make([]provider.Release, 0, len(doc.Versions))
	seen := make(map[addrs.Version]bool, len(doc.Versions))
	var last wireVersion[[]wirePlatform] // with the lists that are parsed
	var protocols []string
	var badProtocol string
	var platforms []addrs.Platform
	var badPlatform wirePlatform
	for i := range doc.Versions {
		w := &doc.Versions[i]
		if len(w.Protocols) > maxProtocols {
			return nil, httpx.TooMany("protocols of a version", maxProtocols)
		}
		if len(w.Platforms) > maxPlatforms {
			return nil, httpx.TooMany("platforms of a version", maxPlatforms)
		}
		version, err := addrs.ParseVersion(w.Version)
		if err != nil {
			notes.Addf("ignored invalid version %q", httpx.Clip(w.Version))
			continue
		}
		if seen[version] {
			notes.Addf("version %s is listed more than once; the first one is used", version)
			continue
		}
		seen[version] = true
		source.NoteUnselectable(&notes, version)
		// Most versions have the lists of the version before, and then share them.
		if !slices.Equal(w.Protocols, last.Protocols) {
			protocols, badProtocol = parseProtocols(w.Protocols)
		}
		if !slices.Equal(w.Platforms, last.Platforms) {
			platforms, badPlatform = parsePlatforms(w.Platforms)
		}
		last = *w
		if badProtocol != "" {
			notes.Addf("version %s: ignored invalid protocol %q", version, httpx.Clip(badProtocol))
		}
		if badPlatform != (wirePlatform{}) {
			notes.Addf("version %s: ignored invalid platform %q, %q", version, httpx.Clip(badPlatform.OS), httpx.Clip(badPlatform.Arch))
		}
		releases = append(releases, provider.Release{Version: version, Listed: source.Listed(version, w.Version), Protocols: protocols, Platforms: platforms, Discovered: w.Discovered.Time})
	}
	slices.SortFunc(releases, func(a, b provider.Release) int { return b.Version.Compare(a.Version) })
	return &provider.Versions{Versions: releases, Warnings: notes.Lines(), Partial: resp.Cached()}, nil
}

// parseProtocols returns the valid protocols of a list, or nil, and the first invalid one. It
// ignores empty texts.
func parseProtocols(wire []string) (protocols []string, bad string) {
	for _, text := range wire {
		if text == "" {
			continue
		}
		if _, err := addrs.ParseVersion(text); err != nil {
			bad = cmp.Or(bad, text)
			continue
		}
		protocols = append(protocols, text)
	}
	return slices.Clip(protocols), bad
}

// parsePlatforms returns the valid platforms of a list, sorted, or nil, and the first invalid one.
func parsePlatforms(wire []wirePlatform) (platforms []addrs.Platform, bad wirePlatform) {
	for _, w := range wire {
		platform, err := addrs.NewPlatform(w.OS, w.Arch)
		if err != nil {
			bad = cmp.Or(bad, w)
			continue
		}
		platforms = append(platforms, platform)
	}
	slices.SortFunc(platforms, addrs.Platform.Compare)
	return slices.Clip(slices.Compact(platforms)), bad
}
