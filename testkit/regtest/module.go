package regtest

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Module is one version of a module. Only Address is required.
type Module struct {
	Address string // such as "acme/network/aws", with a host as in [Provider]

	Version    string         // any text; if empty, "1.0.0"
	Properties map[string]any // in the list, such as "deprecated"
	Discovered string         // as in [Provider]

	Files map[string]string // contents by name; a directory ends with a slash; if nil, main.tf, also in Subdir
	Size  int64             // of a file "large.bin", as in [Provider]; if zero, none; it excludes Deflate

	Format  string // "tar.gz", "zip", "tar.xz" or "tar.bz2"; if empty, "tar.gz"
	Deflate bool   // compress "tar.gz" or "zip"
	Package []byte // instead of Files, Size and Deflate; required for "tar.bz2"

	// Answer is how the location is sent: "header" (204 with X-Terraform-Get, the default), "body" (200 with
	// {"location": …}), "both", "empty object" (header and {}), "empty body" (200 with header), or "none" (204).
	Answer string

	// UseRegistryCredentials, if not nil, is in the body: "header" becomes "body", and "none" has no location.
	// "empty body" ignores it.
	UseRegistryCredentials *bool

	Location string // replaces the fields below, if not empty

	Origin   string // of package and pages, as in [Provider]
	URLs     string // form of the location, as in [Provider]
	Subdir   string // such as "*/subnet"
	Query    string // if empty, "archive=FORMAT" for "opaque"
	Checksum bool   // add "checksum=sha256:…"
	Pages    int    // before the package; if negative, endless
	MetaTag  bool   // <meta name="terraform-get"> instead of X-Terraform-Get
}

// mediaTypes are the media types of the formats.
var mediaTypes = map[string]string{
	"tar.gz": "application/gzip", "zip": "application/zip", "tar.xz": "application/x-xz", "tar.bz2": "application/x-bzip2",
}

// AddModule adds a version. If it is there, it is listed twice and the first is served.
func (r *Registry) AddModule(m Module) *ModuleRelease {
	rel := newModuleRelease(r, m)
	r.mu.Lock()
	defer r.mu.Unlock()
	same := r.modules[rel.address]
	rel.dir = freeDir(rel.m.Version, func(dir string) bool { return findModule(same, dir) != nil })
	r.modules[rel.address] = append(same, rel)
	r.hosts[rel.address.Host().String()] = rel.address.Host()
	return rel
}

// check returns why m cannot be served.
func (m *Module) check() error {
	switch {
	case m.Format == "tar.bz2" && m.Package == nil:
		return errors.New("the format tar.bz2 needs the field Package")
	case m.Size > 0 && m.Package == nil && m.Deflate:
		return fmt.Errorf("a file of %d bytes cannot be compressed", m.Size)
	}
	if err := checkSizes(m.Size, m.Files); err != nil {
		return err
	}
	for name, text := range m.Files {
		if err := tar.NewWriter(io.Discard).WriteHeader(tarHeader(name, len(text))); err != nil && m.Format != "zip" {
			return fmt.Errorf("the name of a file: %w", err)
		}
	}
	if _, err := json.Marshal(m.Properties); err != nil {
		return fmt.Errorf("the properties cannot be JSON: %w", err)
	}
	return checkLink(m.Origin, m.URLs)
}

// getHeader is the header of a location.
const getHeader = "X-Terraform-Get"

// moduleLocation returns the location of a package.
func (r *Registry) moduleLocation(c *call, t target) *answer {
	list := r.moduleReleases(t.module)
	i := slices.IndexFunc(list, func(rel *ModuleRelease) bool { return rel.m.Version == t.version })
	if i < 0 {
		return failure(http.StatusNotFound)
	}
	rel := list[i]
	location, how := rel.location(c), rel.m.Answer
	doc := map[string]any{}
	if use := rel.m.UseRegistryCredentials; use != nil {
		doc["use_registry_credentials"] = *use
		if how == "header" {
			how = "body"
		}
	}
	if how == "body" || how == "both" {
		doc["location"] = location
	}
	a := document(doc)
	switch {
	case how == "empty body":
		a.doc = nil
		a.setBody(nil)
	case len(doc) == 0 && how != "empty object":
		a = &answer{status: http.StatusNoContent, header: http.Header{}}
		a.setBody(nil)
	}
	if how != "body" && how != "none" {
		a.header.Set(getHeader, location)
	}
	return a
}

// location returns the location as the registry states it.
func (rel *ModuleRelease) location(c *call) string {
	if rel.m.Location != "" {
		return rel.m.Location
	}
	l := link{path: rel.path(page(1)), form: rel.m.URLs, origin: rel.m.Origin, subdir: rel.m.Subdir}
	if rel.m.Pages == 0 {
		l.path, l.query = rel.path(rel.filename()), rel.query()
	}
	return l.from(c)
}

// query returns the query of the URL of the package.
func (rel *ModuleRelease) query() string {
	var list []string
	if rel.m.Query != "" {
		list = append(list, rel.m.Query)
	} else if rel.m.URLs == "opaque" {
		list = append(list, "archive="+rel.m.Format)
	}
	if rel.m.Checksum {
		list = append(list, "checksum="+fmt.Sprintf("sha256:%x", rel.pack().sum()))
	}
	return strings.Join(list, "&")
}

const pagePrefix = "page-"

// page returns the name of a page before a package.
func page(number int) string { return pagePrefix + strconv.Itoa(number) }

// path returns the path of a file of the release.
func (rel *ModuleRelease) path(file string) string {
	m := rel.address
	return packagesPath + escape(m.Host().String(), m.Namespace(), m.Name(), m.System(), rel.dir, file)
}

// modulePage returns a page with the URL of the next page or the package.
func (r *Registry) modulePage(c *call, t target) *answer {
	rel := findModule(r.moduleReleases(t.module), t.dir)
	if rel == nil || t.page < 1 || t.page > rel.m.Pages && rel.m.Pages >= 0 {
		return failure(http.StatusNotFound)
	}
	l := link{path: rel.path(page(t.page + 1)), origin: rel.m.Origin}
	if t.page == rel.m.Pages {
		l.path, l.query = rel.path(rel.filename()), rel.query()
	}
	location, tag := html.EscapeString(l.from(c)), ""
	if rel.m.MetaTag {
		tag = "<meta name=\"terraform-get\" content=\"" + location + "\">\n"
	}
	a := text("text/html; charset=utf-8", fmt.Appendf(nil,
		"<!DOCTYPE html>\n<html>\n<head>\n<title>%s</title>\n%s</head>\n<body></body>\n</html>\n",
		html.EscapeString(rel.address.String()), tag))
	if !rel.m.MetaTag {
		a.header.Set(getHeader, l.from(c))
	}
	return a
}

// modulePackage returns the package of a module.
func (r *Registry) modulePackage(t target) *answer {
	rel := findModule(r.moduleReleases(t.module), t.dir)
	if rel == nil || t.file != rel.filename() {
		return failure(http.StatusNotFound)
	}
	a := rel.pack()
	return file(mediaTypes[rel.m.Format], a.content, a.size, a.sum())
}

// A ModuleList is the form of lists of module versions.
type ModuleList struct {
	PageSize      int  // default; if zero, there are no pages
	MaxPageSize   int  // maximum in queries; if zero, 1000
	IgnoreQuery   bool // every page is the first
	TotalInModule bool // limit, offset and total are in the module
	Nulls         bool // null as the first and last version

	UnknownStatus int    // for unknown modules, 200 to 999; if zero, 404, or 200 with UnknownBody
	UnknownBody   string // if empty, an error document
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
		if rel.m.Discovered != "" {
			entry["discovered"] = rel.m.Discovered
		}
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
