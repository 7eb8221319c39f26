package regcheck

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

func (e *examiner) moduleVersions() error {
	m, err := addrs.ParseModule(e.o.Module)
	if err != nil {
		return err
	}
	e.module = m
	u := e.endpoint(modulesService, m.Namespace(), m.Name(), m.System(), "versions")
	var doc struct {
		Modules []struct{ Versions []struct{ Version string } }
	}
	if _, err := e.document(u, maxDocument, true, &doc); err != nil {
		return err
	}
	if len(doc.Modules) == 0 {
		return fmt.Errorf("%s: there is no module in it: modules is missing or empty, want one element with versions", shownURL(u))
	}
	var seen []string
	version := ""
	for _, v := range doc.Modules[0].Versions {
		parsed, err := addrs.ParseModuleVersion(v.Version)
		if err != nil {
			e.failf("%s: %w", shownURL(u), err)
			continue
		}
		seen = append(seen, parsed.String())
		if version == "" && (e.o.ModuleVersion == "" || e.o.ModuleVersion == v.Version || e.o.ModuleVersion == parsed.String()) {
			version = parsed.String() // the CLIs ask in this form
		}
	}
	if twice := duplicate(seen); twice != "" {
		e.failf("%s: version %s is listed twice", shownURL(u), twice)
	}
	if version == "" {
		return notListed(u, e.o.ModuleVersion, len(doc.Modules[0].Versions))
	}
	e.asked = e.endpoint(modulesService, m.Namespace(), m.Name(), m.System(), version, "download")
	return nil
}

func (e *examiner) moduleLocation() error {
	r, err := e.ask(e.asked, true)
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
	e.location = header
	if len(bytes.TrimSpace(body)) > 0 {
		var doc struct {
			Location string
			Token    *bool `json:"use_registry_credentials"`
		}
		if err := decode(body, &doc); err != nil {
			return fmt.Errorf("%s: %w", shownURL(e.asked), err)
		}
		if doc.Location != "" {
			e.location = strings.TrimSpace(doc.Location)
		}
		switch {
		case doc.Token != nil:
			return e.directLocation(strings.TrimSpace(doc.Location), *doc.Token)
		case doc.Location == "" || header == e.location:
		case header == "":
			e.note(Advice, shownURL(e.asked)+": the location is in the body alone, where not all clients look: name it in a header X-Terraform-Get as well")
		default:
			e.failf("%s: the header X-Terraform-Get and the body name different locations, of which each client takes one", shownURL(e.asked))
		}
	} else if r.StatusCode == http.StatusOK && e.location != "" {
		e.note(Advice, shownURL(e.asked)+": status 200 with an empty body, which some clients take for broken JSON: 204 says it better")
	}
	if problem := locationProblem(e.location); problem != "" {
		return fmt.Errorf("%s: %s", shownURL(e.asked), problem)
	}
	return nil
}

// directLocation reads the form in which a registry says that it serves the package itself,
// and whether it wants its token for that. The header has no part in it.
func (e *examiner) directLocation(ref string, token bool) error {
	u, err := resolve(e.asked, "location", ref)
	if err != nil {
		return fmt.Errorf("%s: %w", shownURL(e.asked), err)
	}
	if u.Fragment != "" {
		return fmt.Errorf("%s: location: %s: it has a fragment", shownURL(e.asked), shownURL(u))
	}
	e.location, e.direct, e.tokenForModule = u.String(), true, token
	return nil
}

// locationProblem tells why clients do not understand a location, or "".
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
	case s == "":
		return "it names no location, neither in a body nor in a header X-Terraform-Get"
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "the location has a control character"
	case has("file:"), strings.Contains(lower, "::file:"):
		return "the location is a file on the machine of the client"
	case has("/", "./", "../"):
		return ""
	case has("http://"):
		return "the location is http, where others can change what comes"
	case has("https://", "git::https://", "git::ssh://", "git@", "git::git@", "hg::https://", "s3::https://", "gcs::https://", "oci://"):
		ref := s
		if _, behind, ok := strings.Cut(s, "::"); ok {
			ref = behind
		}
		if _, err := url.Parse(ref); err != nil && !strings.Contains(s, "git@") {
			return "the location is no URL"
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
	return fmt.Sprintf("the location %q is none that clients know, such as https://, git::https:// or a path that starts with ./", printable(s))
}

func (e *examiner) unknownModule() error {
	e.unknown(e.endpoint(modulesService, "regcheck-unknown", "regcheck-unknown", "none", "versions"))
	return nil
}
