package regcheck

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/weburl"
)

// checkedModule is what is known about the module.
type checkedModule struct {
	name     addrs.Module
	asked    *url.URL // for the location
	location string
	direct   bool // the registry serves the package itself
	token    bool // the package requires the token
}

func (e *examiner) moduleVersions() error {
	m, err := addrs.ParseModule(e.o.Module)
	if err != nil {
		return err
	}
	e.module.name = m
	u := e.endpoint(modulesService, m.Namespace(), m.Name(), m.System(), "versions")
	var doc struct {
		Modules []struct{ Versions []struct{ Version string } }
	}
	if _, err := e.document(u, maxDocument, true, &doc); err != nil {
		return err
	}
	if len(doc.Modules) == 0 {
		return fmt.Errorf("%s: no module: modules is missing or empty, want one element with versions", weburl.Redact(u))
	}
	var seen []string
	version := ""
	for _, v := range doc.Modules[0].Versions {
		parsed, err := addrs.ParseModuleVersion(v.Version)
		if err != nil {
			e.failf("%s: %w", weburl.Redact(u), err)
			continue
		}
		seen = append(seen, parsed.String())
		if version == "" && (e.o.ModuleVersion == "" || e.o.ModuleVersion == v.Version || e.o.ModuleVersion == parsed.String()) {
			version = parsed.String() // the CLIs ask in this form
		}
	}
	if twice := duplicate(seen); twice != "" {
		e.failf("%s: version %s is listed twice", weburl.Redact(u), twice)
	}
	if version == "" {
		return notListed(u, e.o.ModuleVersion, len(doc.Modules[0].Versions))
	}
	e.module.asked = e.endpoint(modulesService, m.Namespace(), m.Name(), m.System(), version, "download")
	return nil
}

// moduleLocation reads the location as the CLIs do: OpenTofu reads the body and then the
// header X-Terraform-Get, Terraform only the header.
func (e *examiner) moduleLocation() error {
	m := &e.module
	where := weburl.Redact(m.asked)
	r, err := e.ask(m.asked, true)
	if err != nil {
		return err
	}
	if err := r.wantStatus(http.StatusNoContent, http.StatusOK); err != nil {
		return err
	}
	body, err := r.read(maxDocument)
	if err != nil {
		return err
	}
	header := strings.TrimSpace(r.Header.Get("X-Terraform-Get"))
	var doc struct {
		Location string
		Token    *bool `json:"use_registry_credentials"`
	}
	if len(bytes.TrimSpace(body)) > 0 {
		if err := decode(body, &doc); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	} else if r.StatusCode == http.StatusOK && header != "" {
		e.note(Advice, where+": status 200 with an empty body, which some clients refuse as invalid JSON, want 204")
	}
	inBody := strings.TrimSpace(doc.Location)
	if m.location = cmp.Or(inBody, header); m.location == "" {
		return fmt.Errorf("%s: names no location, in the body or the header X-Terraform-Get", where)
	}
	if doc.Token != nil {
		return e.directLocation(inBody, *doc.Token, header)
	}
	if header == "" {
		e.note(Failed, where+": the location is only in the body, but Terraform reads only the header X-Terraform-Get")
	} else if header != m.location {
		e.failf("%s: the header X-Terraform-Get and the body name different locations; Terraform uses the header, OpenTofu the body", where)
	}
	return e.indirectLocation()
}

// directLocation checks the location of a package that the registry serves itself.
func (e *examiner) directLocation(ref string, token bool, header string) error {
	m := &e.module
	if header == "" {
		e.note(Advice, weburl.Redact(m.asked)+": Terraform does not support use_registry_credentials and needs the header X-Terraform-Get")
	}
	u, err := e.fileURL(m.asked, "location", ref)
	if err != nil {
		return err
	}
	if u.Fragment != "" {
		return fmt.Errorf("%s: location: %s has a fragment", weburl.Redact(m.asked), weburl.Redact(u))
	}
	m.location, m.direct, m.token = u.String(), true, token
	return nil
}

// indirectLocation checks a location that is a module source.
func (e *examiner) indirectLocation() error {
	m := &e.module
	if problem := locationProblem(m.location); problem != "" {
		return fmt.Errorf("%s: %s", weburl.Redact(m.asked), problem)
	}
	if !hasScheme(m.location, "http") {
		return nil
	}
	_, err := e.fileURL(m.asked, "location", m.location)
	return err
}

// hasScheme reports whether a location is a URL with the scheme.
func hasScheme(location, scheme string) bool {
	return len(location) > len(scheme) && strings.EqualFold(location[:len(scheme)], scheme) && strings.HasPrefix(location[len(scheme):], "://")
}

// locationProblem returns why clients do not support a location, or "".
func locationProblem(s string) string {
	lower := strings.ToLower(s)
	has := func(prefixes ...string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(lower, p) {
				return true
			}
		}
		return false
	}
	switch {
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "the location has a control character"
	case has("file:"), strings.Contains(lower, "::file:"):
		return "the location is a file on the machine of the client"
	case has("/", "./", "../"):
		return ""
	case has("https://", "http://", "git::https://", "git::ssh://", "git@", "git::git@", "hg::https://", "s3::https://", "gcs::https://", "oci://"):
		ref := s
		if _, behind, ok := strings.Cut(s, "::"); ok {
			ref = behind
		}
		if _, err := url.Parse(ref); err != nil && !strings.Contains(s, "git@") {
			return "the location is not a URL"
		}
		return ""
	case has("github.com/", "bitbucket.org/", "s3.amazonaws.com/", "www.googleapis.com/storage/"):
		return ""
	case strings.Contains(strings.SplitN(lower, "/", 2)[0], ".amazonaws.com"):
		return ""
	}
	s, _, _ = strings.Cut(s, "?")
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = "..." + s[i:] // without a password
	}
	return fmt.Sprintf("unsupported location %q, want for example https://, git::https:// or a path that starts with ./", weburl.MaskPath(s))
}

func (e *examiner) unknownModule() error {
	e.unknown(e.endpoint(modulesService, "regcheck-unknown", "regcheck-unknown", "none", "versions"))
	return nil
}

// modulePackage checks the package, unless the location needs another protocol than HTTP.
func (e *examiner) modulePackage() error {
	m := &e.module
	relative := strings.HasPrefix(m.location, ".") || strings.HasPrefix(m.location, "/")
	if !relative && !hasScheme(m.location, "https") && !hasScheme(m.location, "http") {
		return nil
	}
	ref := withoutSubdir(m.location)
	u, err := resolve(m.asked, "location", withoutSettings(ref))
	if err != nil {
		return err
	}
	if e.insecure("location", u) {
		return nil
	}
	if m.token && !e.trusted(u) { // any server could name any host
		m.token = false
		e.note(Advice, weburl.Redact(u)+": use_registry_credentials for a host that is not the registry's own, to which some clients send no token")
	}
	if !m.direct && !saysArchive(ref) {
		// As clients do. Without it the server may send another page.
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&terraform-get=1", "&")
	}
	r, err := e.ask(u, m.token, "Accept", "*/*", "Accept-Encoding", "identity")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if err := r.wantStatus(http.StatusOK, http.StatusNoContent); err != nil {
		return err
	}
	if r.Header.Get("X-Terraform-Get") != "" {
		return nil
	}
	start := make([]byte, 4096)
	n, err := io.ReadFull(r.Body, start)
	if err != nil && r.ctx.Err() != nil {
		return failed(r.ctx, u, err)
	}
	start = start[:n]
	for _, magic := range []string{"PK\x03\x04", "\x1f\x8b", "\xfd7zXZ\x00", "BZh"} {
		if bytes.HasPrefix(start, []byte(magic)) {
			return nil
		}
	}
	if bytes.Contains(bytes.ToLower(start), []byte("terraform-get")) {
		return nil
	}
	return fmt.Errorf("%s: neither an archive (zip, or tar with gzip, xz or bzip2) nor a page with a location", weburl.Redact(u))
}

// withoutSubdir removes what follows two slashes, but keeps the query.
func withoutSubdir(s string) string {
	s, query, has := strings.Cut(s, "?")
	start := 0
	if i := strings.Index(s, "://"); i >= 0 {
		start = i + len("://")
	} else if strings.HasPrefix(s, "//") {
		start = len("//")
	}
	if i := strings.Index(s[start:], "//"); i >= 0 {
		s = s[:start+i]
	}
	if has {
		s += "?" + query
	}
	return s
}

// withoutSettings removes the parts of the query that are for clients.
func withoutSettings(s string) string {
	s, query, has := strings.Cut(s, "?")
	if !has {
		return s
	}
	pairs := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return name == "archive" || name == "checksum" || name == "filename"
	})
	if len(pairs) == 0 {
		return s
	}
	return s + "?" + strings.Join(pairs, "&")
}

// archiveNames are the formats in the parameter "archive" and at the end of paths.
var archiveNames = []string{
	"zip", "tar.gz", "tgz", "gz", "tar.bz2", "tar.tbz2", "tbz2", "bz2", "tar.xz", "txz", "xz",
}

// saysArchive reports whether clients expect an archive at a location. Otherwise they expect a
// page.
func saysArchive(s string) bool {
	s, query, _ := strings.Cut(s, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); name == "archive" && value != "" {
			return slices.Contains(archiveNames, value)
		}
	}
	return slices.ContainsFunc(archiveNames, func(name string) bool { return strings.HasSuffix(s, "."+name) })
}
