package regtest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// A ModuleList is the form of lists of module versions. The zero value is one list with all
// versions, as in the protocol.
type ModuleList struct {
	// PageSize is the default number of versions in a list. The query parameters limit and
	// offset select others. If zero, there are no pages.
	PageSize int

	MaxPageSize   int  // maximum limit; if zero, 1000
	IgnoreQuery   bool // every page is the first
	TotalInModule bool // limit, offset and total are in the module
	Nulls         bool // null before and after the versions

	UnknownStatus int    // status for unknown modules, from 200 to 999; if zero, 404, or 200 with UnknownBody
	UnknownBody   string // body for unknown modules; if empty, an error document
}

// moduleVersions returns the list of versions of a module.
func (r *Registry) moduleVersions(c *call, t target) *answer {
	list := r.moduleReleases(t.module)
	if list == nil {
		return r.ModuleList.unknown()
	}
	doc, module := map[string]any{}, map[string]any{}
	doc["modules"] = []any{module}
	page := list
	if how := r.ModuleList; how.PageSize > 0 {
		limit, offset := how.page(c.query, len(list))
		page = list[offset:min(offset+limit, len(list))]
		place := doc
		if how.TotalInModule {
			place = module
		}
		place["limit"], place["offset"], place["total"] = limit, offset, len(list)
	}
	versions := []any{}
	for _, rel := range page {
		entry := map[string]any{}
		maps.Copy(entry, rel.m.Properties)
		entry["version"] = rel.m.Version
		versions = append(versions, entry)
	}
	if r.ModuleList.Nulls {
		versions = append(slices.Insert(versions, 0, any(nil)), nil)
	}
	module["versions"] = versions
	return document(doc)
}

// page returns the part of a list of n versions that a query selects.
func (l *ModuleList) page(query string, n int) (limit, offset int) {
	q, err := url.ParseQuery(query)
	if err != nil || l.IgnoreQuery {
		q = nil
	}
	limit = l.PageSize
	if i, err := strconv.Atoi(q.Get("limit")); err == nil && i > 0 {
		limit = i
	}
	largest := l.MaxPageSize
	if largest <= 0 {
		largest = 1000
	}
	if i, err := strconv.Atoi(q.Get("offset")); err == nil && i > 0 {
		offset = i
	}
	return min(limit, max(largest, l.PageSize)), min(offset, n)
}

// unknown returns the answer for an unknown module.
func (l *ModuleList) unknown() *answer {
	if l.UnknownBody == "" {
		return failure(finalStatus(l.UnknownStatus, http.StatusNotFound))
	}
	a := document(nil)
	a.setBody([]byte(l.UnknownBody))
	a.status = finalStatus(l.UnknownStatus, http.StatusOK)
	return a
}
