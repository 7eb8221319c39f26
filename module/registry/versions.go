package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/module"
)

// ModuleVersions lists the versions of m, newest first. Invalid versions and duplicates are ignored, with a warning.
//
// If the list has pages, ModuleVersions fetches up to 100, which together have the limits of one document. If there are
// more, or a later page fails, it returns the versions so far and a warning.
func (c *Client) ModuleVersions(ctx context.Context, m addrs.Module) (*module.Versions, error) {
	const op = "list versions of"
	r, err := c.request(ctx, m, "versions")
	if err != nil {
		return nil, source.Failed(op, m.String(), err)
	}
	versions, err := c.lists.Get(ctx, c.http, r, (*module.Versions).Clone, func(ctx context.Context, resp *httpx.Response) (*module.Versions, error) {
		return c.listModule(ctx, r, resp)
	})
	if err != nil {
		return nil, source.Failed(op, m.String(), source.PerhapsUnknown(err, "module"))
	}
	versions.Module = m
	return versions, nil
}

// listModule returns the list whose first page is resp, the answer to r.
func (c *Client) listModule(ctx context.Context, r httpx.Request, resp *httpx.Response) (*module.Versions, error) {
	var list moduleList
	page, err := list.add(resp)
	if err != nil {
		return nil, err
	}
	if !page.known {
		return nil, resp.Fail(fmt.Errorf("the answer has no module: %w", failure.ErrNotFound))
	}
	if err := c.addPages(ctx, r, &list, page); err != nil {
		return nil, err
	}
	slices.SortFunc(list.releases, func(a, b module.Release) int { return b.Version.Compare(a.Version) })
	return &module.Versions{Versions: list.releases, Warnings: append(list.gap, list.notes.Lines()...), Partial: list.partial}, nil
}

// request returns the request for a document about m.
func (c *Client) request(ctx context.Context, m addrs.Module, parts ...string) (httpx.Request, error) {
	c.setup()
	parts = append([]string{m.Namespace(), m.Name(), m.System()}, parts...)
	return source.Request(ctx, c.discovery, m.Host(), disco.ModulesV1, parts...)
}

// Limits of lists in pages. The pages together have at most source.MaxDocument bytes.
const (
	maxPages    = 100  // requests for one list
	maxPageSize = 1000 // requested versions
)

// addPages fetches the further pages of a list whose first page is page, the answer to r. If a
// page fails, the list gets a warning. The error means that the list is too large.
func (c *Client) addPages(ctx context.Context, r httpx.Request, list *moduleList, page modulePage) error {
	r.Limit -= page.bytes
	first, largest, offset := page.entries, maxPageSize, 0
	for requests := 1; ; requests++ {
		next, promised := page.rest(offset)
		switch {
		case next == 0 && page.total > list.counted:
			list.incomplete(page.total, "")
			return nil
		case next == 0:
			return nil
		case requests == maxPages:
			list.incomplete(page.total, fmt.Sprintf("it has more than %d pages", maxPages))
			return nil
		}
		limit := largest
		if page.total > 0 {
			limit = min(page.total-next, largest)
		}
		got, err := c.getPage(ctx, r, list, next, limit)
		switch {
		case err == nil && got.fresh > 0:
			got.total = cmp.Or(got.total, page.total)
			r.Limit -= got.bytes
			offset, page = next, got
		case errors.Is(err, failure.ErrTooLarge):
			return err
		case largest > first && refusesSize(err):
			largest = first
		case promised, err != nil && !errors.Is(err, failure.ErrNotFound) && !refusesSize(err):
			list.incomplete(page.total, cmp.Or(err, errNoProgress).Error())
			list.partial = list.partial || err != nil
			return nil
		default: // a full page was the last one
			return nil
		}
	}
}

// rest returns the offset of the page after p, which is at offset, or 0. promised reports that
// the registry announces the page. A full page may also be the last one.
func (p *modulePage) rest(offset int) (next int, promised bool) {
	n := p.entries
	switch {
	case n == 0, p.total > 0 && offset+n >= p.total:
		return 0, false
	case p.total > 0:
		return offset + n, true
	case n == p.limit:
		return offset + n, false
	}
	return 0, false
}

// getPage fetches one page and adds it to the list.
func (c *Client) getPage(ctx context.Context, r httpx.Request, list *moduleList, offset, limit int) (modulePage, error) {
	tooLarge := httpx.TooMany("bytes in the pages of one list", source.MaxDocument)
	if r.Limit <= 0 {
		return modulePage{}, tooLarge
	}
	u := *r.URL
	u.RawQuery = url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(offset)}}.Encode()
	r.URL = &u
	resp, err := c.http.Document(ctx, r)
	if e, ok := err.(*failure.RequestError); ok && errors.Is(e.Err, failure.ErrTooLarge) {
		return modulePage{}, e.Because(tooLarge)
	}
	if err != nil {
		return modulePage{}, err
	}
	page, err := list.add(resp)
	if err != nil {
		return modulePage{}, resp.Unusable(err)
	}
	return page, nil
}

// refusesSize reports whether the registry may accept a smaller page.
func refusesSize(err error) bool {
	e, ok := err.(*failure.RequestError)
	return ok && (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity)
}

var errNoProgress = errors.New("the next page has no new versions")

// incomplete records that versions are missing. A total of 0 is unknown.
func (l *moduleList) incomplete(total int, why string) {
	text := "the list of versions is incomplete"
	if total > 0 {
		text += fmt.Sprintf(": the registry counts %d and sent %d", total, l.counted)
	}
	if why != "" {
		text += ": " + why
	}
	l.gap = []string{weburl.Clean(text, httpx.MaxNote)}
}

// The wire form. Members outside the protocol may have any type.
type (
	wireVersions struct {
		Modules []wireModule `json:"modules"`
		wirePaging
	}
	wireModule struct {
		Versions []wireVersion `json:"versions"`
		wirePaging
	}
	wireVersion struct {
		Version     string          `json:"version"`
		Deprecated  wireDeprecation `json:"deprecated"`
		Deprecation wireDeprecation `json:"deprecation"`
		Discovered  source.Time     `json:"discovered"`
	}
	wirePaging struct {
		Total count `json:"total"`
		Limit count `json:"limit"`
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
	said.Reason = cmp.Or(said.Reason, said.Message)
	d.Deprecation = &module.Deprecation{Reason: weburl.Clean(said.Reason, httpx.MaxNote), Link: weburl.Clean(said.Link, httpx.MaxNote)}
	return nil
}

// moduleList collects the versions of a module from all pages.
type moduleList struct {
	releases []module.Release
	notes    httpx.Notes
	gap      []string // why versions are missing, or nil
	partial  bool     // whether a page failed or was cached, so that versions may be missing

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

	bytes        int64
	total, limit int // as stated, or 0
}

// add adds a page to the list.
func (l *moduleList) add(resp *httpx.Response) (modulePage, error) {
	l.partial = l.partial || resp.Cached()
	doc, err := source.DecodeList[wireVersions](resp)
	if err != nil {
		return modulePage{}, err
	}
	if len(doc.Modules) == 0 {
		return modulePage{}, missingModules(resp.Body)
	}
	// By the protocol, the first one is the requested module.
	m := &doc.Modules[0]
	page := modulePage{known: m.Versions != nil, bytes: int64(len(resp.Body))}
	page.total = int(max(doc.Total, m.Total))
	page.limit = int(max(doc.Limit, m.Limit))
	l.grow(len(m.Versions))
	for i := range m.Versions {
		if m.Versions[i].Version != "" {
			page.entries++
		}
		if l.addVersion(&m.Versions[i]) {
			page.fresh++
		}
	}
	if len(l.releases)+len(l.invalid) > source.MaxVersions {
		return modulePage{}, httpx.TooMany("versions", source.MaxVersions)
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
func (l *moduleList) addVersion(w *wireVersion) bool {
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
	l.releases = append(l.releases, module.Release{
		Version: version, Listed: source.Listed(version, w.Version),
		Deprecated: cmp.Or(w.Deprecated.Deprecation, w.Deprecation.Deprecation), Discovered: w.Discovered.Time,
	})
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
