package regclient

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/provider"
)

// Limits within a versions document.
const (
	maxVersions  = 100_000
	maxPlatforms = 1000 // of one version
	maxProtocols = 100  // of one version
)

// The wire form. It has values, not pointers, so a null element is an empty one.
type (
	wireVersions struct {
		Versions []wireVersion `json:"versions"`
		Warnings []string      `json:"warnings"`
	}
	wireVersion = struct {
		Version   string         `json:"version"`
		Protocols []string       `json:"protocols"`
		Platforms []wirePlatform `json:"platforms"`
	}
	wirePlatform struct {
		OS   string `json:"os"`
		Arch string `json:"arch"`
	}
)

// versionList is the content of a versions document.
type versionList struct {
	releases []provider.Release
	warnings []string
}

// bareVersions is wireVersions without the platforms.
type bareVersions struct {
	Versions []struct {
		Version   string         `json:"version"`
		Protocols []string       `json:"protocols"`
		Platforms []wirePlatform `json:"-"`
	} `json:"versions"`
	Warnings []string `json:"warnings"`
}

func decodeVersions(resp *httpx.Response) (*versionList, error) {
	doc, err := decodeList[wireVersions](resp)
	var notes httpx.Notes
	// The CLI does not read platforms, so it works with registries that send them in another form.
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && strings.HasPrefix(wrong.Field, "versions.platforms") {
		notes.Add("ignored the platforms of all versions: they are not as the protocol describes")
		var bare *bareVersions
		bare, err = decodeList[bareVersions](resp)
		doc = (*wireVersions)(bare)
	}
	if err != nil {
		return nil, err
	}
	for _, text := range doc.Warnings {
		notes.Add(text)
	}
	d := &listDecoder{
		notes: &notes,
		list:  versionList{releases: make([]provider.Release, 0, len(doc.Versions))},
		seen:  make(map[addrs.Version]bool, len(doc.Versions)),
	}
	for i := range doc.Versions {
		if err := d.add(&doc.Versions[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(d.list.releases, func(a, b provider.Release) int { return b.Version.Compare(a.Version) })
	d.list.warnings = notes.Lines()
	return &d.list, nil
}

// decodeList decodes a document with versions.
func decodeList[T any](resp *httpx.Response) (*T, error) {
	if err := httpx.CheckMembers(resp.Body, httpx.MaxListMembers); err != nil {
		return nil, err
	}
	if err := httpx.CheckList(resp.Body, "versions", maxVersions); err != nil {
		return nil, err
	}
	var doc *T
	if err := resp.DecodeJSON(&doc); err != nil {
		return nil, err
	}
	if doc == nil {
		return nil, errors.New("the document is null")
	}
	return doc, nil
}

// listDecoder parses the versions of a document.
type listDecoder struct {
	list  versionList
	notes *httpx.Notes
	seen  map[addrs.Version]bool

	protocols repeated[string, string]
	platforms repeated[wirePlatform, addrs.Platform]
}

func (d *listDecoder) add(w *wireVersion) error {
	if len(w.Protocols) > maxProtocols {
		return httpx.TooMany("protocols of a version", maxProtocols)
	}
	if len(w.Platforms) > maxPlatforms {
		return httpx.TooMany("platforms of a version", maxPlatforms)
	}
	version, err := addrs.ParseVersion(w.Version)
	if err != nil {
		d.notes.Addf("ignored invalid version %q", httpx.Clip(w.Version))
		return nil
	}
	if d.seen[version] {
		d.notes.Addf("version %s is listed more than once; the first one is used", version)
		return nil
	}
	d.seen[version] = true
	source.NoteUnselectable(d.notes, version)
	protocols, bad := d.protocols.parse(w.Protocols, parseProtocols)
	if bad != "" {
		d.notes.Addf("version %s: ignored invalid protocol %q", version, httpx.Clip(bad))
	}
	platforms, badPlatform := d.platforms.parse(w.Platforms, parsePlatforms)
	if badPlatform != (wirePlatform{}) {
		d.notes.Addf("version %s: ignored invalid platform %q, %q", version, httpx.Clip(badPlatform.OS), httpx.Clip(badPlatform.Arch))
	}
	d.list.releases = append(d.list.releases, provider.Release{Version: version, Listed: source.Listed(version, w.Version), Protocols: protocols, Platforms: platforms})
	return nil
}

// repeated parses lists. Most versions have the same protocols and platforms as the version
// before, and then share the parsed list.
type repeated[W comparable, P any] struct {
	wire   []W
	parsed []P
	bad    W
}

func (r *repeated[W, P]) parse(wire []W, parse func([]W) ([]P, W)) (parsed []P, bad W) {
	if !slices.Equal(wire, r.wire) {
		r.wire = wire
		r.parsed, r.bad = parse(wire)
	}
	return r.parsed, r.bad
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
