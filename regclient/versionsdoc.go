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

// The wire form. Values instead of pointers: a null element is an empty one.
type (
	wireVersions struct {
		Versions []wireVersion `json:"versions"`
		Warnings []string      `json:"warnings"`
	}
	wireVersion struct {
		Version   string         `json:"version"`
		Protocols []string       `json:"protocols"`
		Platforms []wirePlatform `json:"platforms"`
	}
	wirePlatform struct {
		OS   string `json:"os"`
		Arch string `json:"arch"`
	}
)

// versionList is a decoded versions document.
type versionList struct {
	releases []provider.Release
	warnings []string
}

func decodeVersions(resp *httpx.Response) (*versionList, error) {
	if err := httpx.CheckMembers(resp.Body, httpx.MaxListMembers); err != nil {
		return nil, err
	}
	if err := httpx.CheckList(resp.Body, "versions", maxVersions); err != nil {
		return nil, err
	}
	doc, err := readVersions(resp)
	if err != nil {
		return nil, err
	}
	if doc == nil {
		return nil, errors.New("the document is null")
	}
	if len(doc.Versions) > maxVersions {
		return nil, httpx.TooMany("versions", maxVersions)
	}
	var notes httpx.Notes
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

// readVersions decodes the wire form, nil of null. Platforms of another form than that of
// the protocol are left out, since the CLI, which does not read them, works with such a
// registry.
func readVersions(resp *httpx.Response) (*wireVersions, error) {
	var doc *wireVersions
	err := resp.DecodeJSON(&doc)
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || !strings.HasPrefix(wrong.Field, "versions.platforms") {
		return doc, err
	}
	var rest struct {
		Versions []struct {
			Version   string   `json:"version"`
			Protocols []string `json:"protocols"`
		} `json:"versions"`
		Warnings []string `json:"warnings"`
	}
	if err := resp.DecodeJSON(&rest); err != nil {
		return nil, err
	}
	doc = &wireVersions{
		Versions: make([]wireVersion, len(rest.Versions)),
		Warnings: append(rest.Warnings, "the platforms of the versions are ignored: they are not of the form of the protocol"),
	}
	for i, v := range rest.Versions {
		doc.Versions[i] = wireVersion{Version: v.Version, Protocols: v.Protocols}
	}
	return doc, nil
}

// listDecoder parses the versions of a list. Most of them repeat the protocols and
// the platforms of the one before, and then share its parsed ones.
type listDecoder struct {
	list  versionList
	notes *httpx.Notes
	seen  map[addrs.Version]bool

	protocols protocolLists
	platforms platformLists
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
		d.notes.Addf("left out a version that is none: %q", httpx.Clip(w.Version))
		return nil
	}
	if d.seen[version] {
		d.notes.Addf("version %s is listed more than once, the first one counts", version)
		return nil
	}
	d.seen[version] = true
	source.NoteUnselectable(d.notes, version)
	protocols, bad := d.protocols.parse(w.Protocols)
	if bad != "" {
		d.notes.Addf("version %s has a protocol that is none: %q", version, httpx.Clip(bad))
	}
	platforms, badPlatform := d.platforms.parse(w.Platforms)
	if badPlatform != (wirePlatform{}) {
		d.notes.Addf("version %s has a platform that is none: %q, %q", version, httpx.Clip(badPlatform.OS), httpx.Clip(badPlatform.Arch))
	}
	d.list.releases = append(d.list.releases, provider.Release{Version: version, Listed: source.Listed(version, w.Version), Protocols: protocols, Platforms: platforms})
	return nil
}

// protocolLists parses lists of plugin protocol versions.
type protocolLists struct {
	wire, parsed []string
	bad          string
}

// parse returns the valid protocols of a list, nil if it has none, and the first one
// that is invalid. An empty text says nothing, as does an empty list.
func (l *protocolLists) parse(wire []string) (protocols []string, bad string) {
	if slices.Equal(wire, l.wire) {
		return l.parsed, l.bad
	}
	l.wire, l.parsed, l.bad = wire, nil, ""
	for _, text := range wire {
		if text == "" {
			continue
		}
		if _, err := addrs.ParseVersion(text); err != nil {
			l.bad = cmp.Or(l.bad, text)
			continue
		}
		l.parsed = append(l.parsed, text)
	}
	l.parsed = slices.Clip(l.parsed)
	return l.parsed, l.bad
}

// platformLists parses lists of platforms.
type platformLists struct {
	wire   []wirePlatform
	parsed []addrs.Platform
	bad    wirePlatform
	known  map[wirePlatform]addrs.Platform // zero: invalid
}

// parse returns the valid platforms of a list, sorted and each once, nil if it has
// none, and the first one that is invalid.
func (l *platformLists) parse(wire []wirePlatform) (platforms []addrs.Platform, bad wirePlatform) {
	if slices.Equal(wire, l.wire) {
		return l.parsed, l.bad
	}
	l.wire, l.parsed, l.bad = wire, make([]addrs.Platform, 0, len(wire)), wirePlatform{}
	for _, w := range wire {
		if platform := l.platform(w); !platform.IsZero() {
			l.parsed = append(l.parsed, platform)
		} else if w != (wirePlatform{}) && l.bad == (wirePlatform{}) {
			l.bad = w
		}
	}
	slices.SortFunc(l.parsed, addrs.Platform.Compare)
	l.parsed = slices.Clip(slices.Compact(l.parsed))
	if len(l.parsed) == 0 {
		l.parsed = nil
	}
	return l.parsed, l.bad
}

func (l *platformLists) platform(w wirePlatform) addrs.Platform {
	platform, ok := l.known[w]
	if !ok {
		platform, _ = addrs.NewPlatform(w.OS, w.Arch)
		if l.known == nil {
			l.known = map[wirePlatform]addrs.Platform{}
		}
		l.known[w] = platform
	}
	return platform
}
