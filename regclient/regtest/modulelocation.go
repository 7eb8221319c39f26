package regtest

import (
	"fmt"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

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
		if how == InHeader {
			how = InBody
		}
	}
	if how == InBody || how == InBoth {
		doc["location"] = location
	}
	a := document(doc)
	switch {
	case how == BesideEmpty:
		a.doc = nil
		a.setBody(nil)
	case len(doc) == 0 && how != BesideJSON:
		a = &answer{status: http.StatusNoContent, header: http.Header{}}
		a.setBody(nil)
	}
	if how != InBody && how != Nowhere {
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
		l.path, l.query = rel.Path(), rel.query()
	}
	return l.from(c)
}

// query returns the query of the URL of the package.
func (rel *ModuleRelease) query() string {
	var list []string
	if rel.m.Query != "" {
		list = append(list, rel.m.Query)
	} else if rel.m.URLs == Opaque {
		list = append(list, "archive="+rel.m.Format.String())
	}
	if rel.m.Checksum {
		list = append(list, "checksum="+rel.Checksum())
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
		l.path, l.query = rel.Path(), rel.query()
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
	if rel == nil || t.file != rel.Filename() {
		return failure(http.StatusNotFound)
	}
	mediaTypes := [...]string{"application/gzip", "application/zip", "application/x-xz", "application/x-bzip2"}
	a := rel.pack()
	return file(mediaTypes[rel.m.Format], a.content, a.size, a.sum())
}
