package regclient

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/module"
)

// The wire form. Members outside the protocol may have any type.
type (
	wireModuleVersions struct {
		Modules []wireModule `json:"modules"`
		wirePaging
		Meta wireMeta `json:"meta"`
	}
	wireModule struct {
		Versions []wireModuleVersion `json:"versions"`
		wirePaging
	}
	wireModuleVersion struct {
		Version     string          `json:"version"`
		Deprecated  wireDeprecation `json:"deprecated"`
		Deprecation wireDeprecation `json:"deprecation"`
	}
	wirePaging struct {
		Total count `json:"total"`
		Limit count `json:"limit"`
	}
	// wireMeta is as in lists of modules. Without NextOffset, the page is the last one.
	wireMeta struct {
		Total      count `json:"total"`
		NextOffset count `json:"next_offset"`
	}
	wireDeprecation struct{ *module.Deprecation }
	count           int // 0 if absent or not a positive number
)

// UnmarshalJSON implements [json.Unmarshaler].
func (n *count) UnmarshalJSON(data []byte) error {
	if i, err := strconv.ParseInt(strings.Trim(string(data), `"`), 10, 32); err == nil && i > 0 {
		*n = count(i)
	}
	return nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *wireMeta) UnmarshalJSON(data []byte) error {
	type plain wireMeta // without this method
	var p plain
	if json.Unmarshal(data, &p) == nil {
		*m = wireMeta(p)
	}
	return nil
}

// UnmarshalJSON implements [json.Unmarshaler]. Registries send true, a string or an object.
func (d *wireDeprecation) UnmarshalJSON(data []byte) error {
	var said struct{ Reason, Message, Link string }
	switch data[0] {
	case 't':
	case '"':
		if json.Unmarshal(data, &said.Reason) != nil || said.Reason == "" {
			return nil
		}
	case '{':
		// Members that are not strings are ignored.
		_ = json.Unmarshal(data, &said)
	default:
		return nil
	}
	if said.Reason == "" {
		said.Reason = said.Message
	}
	d.Deprecation = &module.Deprecation{
		Reason: weburl.Clean(said.Reason, httpx.MaxNote),
		Link:   weburl.Clean(said.Link, httpx.MaxNote),
	}
	return nil
}

// moduleList collects the versions of a module from all pages.
type moduleList struct {
	releases []module.Release
	notes    httpx.Notes
	gap      string // why versions are missing, or ""

	pages   int
	counted int                   // elements that are not on an earlier page
	seen    map[addrs.Version]int // first page of each version
	invalid map[string]int        // first page of each invalid version
}

// modulePage describes a page of a list.
type modulePage struct {
	known   bool // the registry knows the module
	entries int  // with a version
	fresh   int  // entries that are not on an earlier page

	bytes              int64
	total, limit, next int // as stated, or 0
}

// add adds a page to the list.
func (l *moduleList) add(resp *httpx.Response) (modulePage, error) {
	doc, err := decodeList[wireModuleVersions](resp)
	if err != nil {
		return modulePage{}, err
	}
	if len(doc.Modules) == 0 {
		return modulePage{}, missingModules(resp.Body)
	}
	// By the protocol, the first one is the requested module.
	m := &doc.Modules[0]
	page := modulePage{known: m.Versions != nil, bytes: int64(len(resp.Body))}
	page.total = int(max(doc.Total, m.Total, doc.Meta.Total))
	page.limit = int(max(doc.Limit, m.Limit))
	page.next = int(doc.Meta.NextOffset)
	l.grow(len(m.Versions))
	for i := range m.Versions {
		if m.Versions[i].Version != "" {
			page.entries++
		}
		if l.addVersion(&m.Versions[i]) {
			page.fresh++
		}
	}
	if len(l.releases)+len(l.invalid) > maxVersions {
		return modulePage{}, httpx.TooMany("versions", maxVersions)
	}
	return page, nil
}

// grow makes room for a page of n versions.
func (l *moduleList) grow(n int) {
	l.pages++
	l.releases = slices.Grow(l.releases, n)
	if l.seen == nil {
		l.seen = make(map[addrs.Version]int, n)
		l.invalid = map[string]int{}
	}
}

// warnings returns the warnings of the list, the most important first.
func (l *moduleList) warnings() []string {
	lines := l.notes.Lines()
	if l.gap == "" {
		return lines
	}
	return slices.Insert(lines, 0, weburl.Clean(l.gap, httpx.MaxNote))
}

// missingModules returns nil if the list of modules is empty, which means that the module is
// unknown, and an error if there is no list.
func missingModules(document []byte) error {
	var doc struct {
		Modules json.RawMessage `json:"modules"`
	}
	if json.Unmarshal(document, &doc) == nil && doc.Modules != nil {
		return nil
	}
	return errors.New("modules is missing")
}

// addVersion adds a version and reports whether it is new. Pages overlap if a version is
// published between the requests.
func (l *moduleList) addVersion(w *wireModuleVersion) bool {
	version, err := addrs.ParseModuleVersion(w.Version)
	if err != nil {
		return l.addInvalid(w.Version)
	}
	first := l.seen[version]
	if first == 0 || first == l.pages {
		l.counted++
	}
	if first == l.pages {
		l.notes.Addf("version %s is listed more than once; the first one is used", version)
	}
	if first > 0 {
		return false
	}
	l.seen[version] = l.pages
	r := module.Release{Version: version, Listed: source.Listed(version, w.Version), Deprecated: w.Deprecated.Deprecation}
	if r.Deprecated == nil {
		r.Deprecated = w.Deprecation.Deprecation
	}
	l.releases = append(l.releases, r)
	return true
}

// addInvalid is addVersion for an invalid version. Text is empty for null.
func (l *moduleList) addInvalid(text string) bool {
	text = httpx.Clip(text)
	first := l.invalid[text]
	if first == 0 || first == l.pages || text == "" {
		l.counted++
	}
	if first > 0 {
		return false
	}
	l.invalid[text] = l.pages
	l.notes.Addf("ignored invalid version %q", text)
	return text != ""
}
