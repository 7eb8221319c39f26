package regcheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/weburl"
)

// The checked services.
const (
	providersService = "providers.v1"
	modulesService   = "modules.v1"
)

// start fetches the discovery document.
func (e *examiner) start(baseURL string) error {
	u, err := url.Parse(baseURL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return errors.New("the base URL is not https://HOST")
	}
	if _, err := svchost.FromWire(u.Host); err != nil {
		return err
	}
	e.base = u
	var doc map[string]json.RawMessage
	r, err := e.document(u.JoinPath("/.well-known/terraform.json"), maxDiscovery, false, &doc)
	if err != nil {
		return err
	}
	e.services = map[string]*url.URL{}
	for id, wanted := range map[string]bool{providersService: e.o.Provider != "", modulesService: e.o.Module != ""} {
		raw, ok := doc[id]
		if !ok {
			if wanted {
				e.failf("%s: no service %s", weburl.Redact(r.url), id)
			}
			continue
		}
		var ref string
		if err := json.Unmarshal(raw, &ref); err != nil {
			e.failf("%s: %s is not a string", weburl.Redact(r.url), id)
			continue
		}
		service, err := resolve(r.url, id, ref)
		if err == nil {
			err = e.permitted(service)
		}
		if err != nil {
			e.failf("%w", err)
			continue
		}
		e.services[id] = service
	}
	return nil
}

func (e *examiner) serviceURLs() error {
	for _, id := range []string{modulesService, providersService} {
		if u := e.services[id]; u != nil && !strings.HasSuffix(u.Path, "/") {
			level, effect := Failed, "clients lose the last segment"
			if id == modulesService {
				level, effect = Advice, "current clients add it"
			}
			e.note(level, fmt.Sprintf("%s: %s does not end with a slash: %s", id, weburl.Redact(u), effect))
		}
	}
	return nil
}

// endpoint returns a URL below the URL of a service.
func (e *examiner) endpoint(service string, segments ...string) *url.URL {
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	u := e.services[service].JoinPath(segments...)
	u.RawQuery = ""
	return u
}

// authorization requests without the token the lists that the token gave access to.
func (e *examiner) authorization() error {
	var urls []*url.URL
	if e.good["provider versions"] {
		urls = append(urls, e.endpoint(providersService, e.pkg.namespace, e.pkg.typ, "versions"))
	}
	if e.good["module versions"] {
		urls = append(urls, e.endpoint(modulesService, e.module.name.Namespace(), e.module.name.Name(), e.module.name.System(), "versions"))
	}
	if e.mirrorAlone && e.good["mirror index"] {
		urls = append(urls, e.mirror.dir.JoinPath("index.json"))
	}
	if wanted := e.o.Provider != "" || e.o.Module != "" || e.mirrorAlone; wanted && len(urls) == 0 {
		e.note(Skipped, "no list could be read with the token")
	}
	for _, u := range urls {
		r, err := e.ask(u, false)
		if err != nil {
			return err
		}
		r.Body.Close()
		switch r.StatusCode {
		case http.StatusUnauthorized:
		case http.StatusForbidden:
			e.note(Advice, fmt.Sprintf("%s: status 403 without a token, want 401", weburl.Redact(u)))
		default:
			e.failf("%s: status %d without a token, want 401", weburl.Redact(u), r.StatusCode)
		}
	}
	return nil
}

// unknown checks that the answer for u is 404.
func (e *examiner) unknown(u *url.URL) {
	r, err := e.ask(u, e.trusted(u))
	if err == nil {
		err = r.wantStatus(http.StatusNotFound)
	}
	if err != nil {
		e.failf("%w", err)
		return
	}
	r.Body.Close()
}

// duplicate returns a text that list has twice, or "".
func duplicate(list []string) string {
	list = slices.Sorted(slices.Values(list))
	for i := 1; i < len(list); i++ {
		if list[i] == list[i-1] {
			return list[i]
		}
	}
	return ""
}
