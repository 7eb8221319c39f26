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

// The wire form, see wireVersions. Members that the protocol does not have may be
// anything: what they mean is only a guess.
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
	// wireMeta is what lists of modules have in their pages, where the absence
	// of NextOffset means the end.
	wireMeta struct {
		Total      count `json:"total"`
		NextOffset count `json:"next_offset"`
	}
	wireDeprecation struct{ *module.Deprecation }
	count           int // 0: absent, or not a number above it
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

// UnmarshalJSON implements [json.Unmarshaler]. Seen are true, a text, and an object.
func (d *wireDeprecation) UnmarshalJSON(data []byte) error {
	var said struct{ Reason, Message, Link string }
	switch data[0] {
	case 't':
	case '"':
		if json.Unmarshal(data, &said.Reason) != nil || said.Reason == "" {
			return nil
		}
	case '{':
		// What is no text in it is left out.
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

// moduleList collects the versions of a module, page by page.
type moduleList struct {
	releases []module.Release
	notes    httpx.Notes
	gap      string // why versions are missing; "": none are known to be

	pages   int
	counted int                   // elements, without those that an earlier page had
	seen    map[addrs.Version]int // on which page first
	unread  map[string]int        // the same for what was no version
}

// modulePage is what one document adds to a list.
type modulePage struct {
	known   bool // the registry knows the module
	entries int  // that the document has; those without a version do not count
	fresh   int  // of these, not seen before

	bytes              int64
	total, limit, next int // as the document states them, 0: not
}

// add reads a document. Before the first page of a list is added, it is the zero
// moduleList.
func (l *moduleList) add(resp *httpx.Response) (modulePage, error) {
	doc, err := decodeList[wireModuleVersions](resp)
	if err != nil {
		return modulePage{}, err
	}
	if len(doc.Modules) == 0 {
		return modulePage{}, missingModules(resp.Body)
	}
	// The protocol says that the first one is the module that was asked for.
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
	if len(l.releases)+len(l.unread) > maxVersions {
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
		l.unread = map[string]int{}
	}
}

// warnings returns what to tell about the list, the gravest first.
func (l *moduleList) warnings() []string {
	lines := l.notes.Lines()
	if l.gap == "" {
		return lines
	}
	return slices.Insert(lines, 0, weburl.Clean(l.gap, httpx.MaxNote))
}

// missingModules tells an empty list of modules, which means that the registry does
// not know the module, from a document about something else.
func missingModules(document []byte) error {
	var doc struct {
		Modules json.RawMessage `json:"modules"`
	}
	if json.Unmarshal(document, &doc) == nil && doc.Modules != nil {
		return nil
	}
	return errors.New("modules is missing")
}

// addVersion takes one version and reports whether it is a new one. Pages overlap if
// a version is published while they are read, which needs no warning.
func (l *moduleList) addVersion(w *wireModuleVersion) bool {
	version, err := addrs.ParseModuleVersion(w.Version)
	if err != nil {
		return l.addUnread(w.Version)
	}
	first := l.seen[version]
	if first == 0 || first == l.pages {
		l.counted++
	}
	if first == l.pages {
		l.notes.Addf("version %s is listed more than once, the first one counts", version)
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

// addUnread is addVersion for what is no version. The text is empty where there was
// nothing, such as null.
func (l *moduleList) addUnread(text string) bool {
	text = httpx.Clip(text)
	first := l.unread[text]
	if first == 0 || first == l.pages || text == "" {
		l.counted++
	}
	if first > 0 {
		return false
	}
	l.unread[text] = l.pages
	l.notes.Addf("left out a version that is none: %q", text)
	return text != ""
}
