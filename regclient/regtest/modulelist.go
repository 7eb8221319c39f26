package regtest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// A ModuleList is how the lists of the versions of modules look. The zero value
// is what the protocol describes: one list that has all.
//
// To break a list off in the middle, let a [Fault] of the Kind ModuleVersions
// skip the first page.
type ModuleList struct {
	// PageSize is how many versions a list has at most, unless the parameter
	// "limit" in the query asks for more; the parameter "offset" says how many
	// come before it. Such lists have the properties limit, offset and total.
	// Zero means that all come at once, with none of these properties.
	PageSize int

	// MaxPageSize is the largest limit that can be asked for. Zero means 1000.
	MaxPageSize int

	// IgnoreQuery answers every request as if it had no query. A client that
	// asks for the next page gets the first one again.
	IgnoreQuery bool

	// TotalInModule puts the properties limit, offset and total into the module,
	// beside its versions. Without it they stand beside "modules".
	TotalInModule bool

	// Nulls puts a null before the first and behind the last version.
	Nulls bool

	// UnknownStatus is the status of the answer for a module that the registry
	// does not have, from 200 to 999. Zero means 404, or 200 if there is an
	// UnknownBody.
	UnknownStatus int

	// UnknownBody, if not empty, is its body: {"modules":[{}]} and
	// {"modules":[{"versions":null}]} can be seen.
	UnknownBody string
}

// moduleVersions answers with the list of a module's versions.
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

// page returns which part of a list of n versions a query asks for.
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

// unknown answers for a module that the registry does not have.
func (l *ModuleList) unknown() *answer {
	if l.UnknownBody == "" {
		return failure(finalStatus(l.UnknownStatus, http.StatusNotFound))
	}
	a := document(nil)
	a.setBody([]byte(l.UnknownBody))
	a.status = finalStatus(l.UnknownStatus, http.StatusOK)
	return a
}
