package disco

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Causes of a [*ServiceError].
var (
	ErrNoService      = errors.New("service not offered")
	ErrServiceVersion = errors.New("service version not offered")
	ErrServiceID      = errors.New("invalid service identifier, want NAME.vN")
)

const (
	wellKnownPath = "/.well-known/terraform.json"
	maxDocument   = 1 << 20
	maxServices   = 1000
)

// Services is the immutable list of services of a host. The zero Services is empty.
type Services struct {
	host      svchost.Hostname
	tokenHost svchost.Hostname
	allowHTTP bool
	doc       document
}

// NewHosts returns Hosts with [NewServices] of host, without discovery.
func NewHosts(host svchost.Hostname, services map[Service]any) *Hosts {
	return &Hosts{Overrides: map[svchost.Hostname]*Services{host: NewServices(host, services)}}
}

// NewServices returns services for Hosts.Overrides and tests. A value is a URL, absolute or relative to the
// well-known URL of host, or for login.v1 a map[string]any. An invalid value is an error of [Services.URL] or
// [Services.OAuthClient].
func NewServices(host svchost.Hostname, services map[Service]any) *Services {
	s := &Services{host: host, tokenHost: host, doc: document{base: wellKnown(host), services: make(object, len(services))}}
	for id, value := range services {
		if blocks, ok := value.([]map[string]any); ok && len(blocks) > 0 { // HCL 1 makes it of a block
			value = blocks[0]
		}
		raw, err := json.Marshal(value)
		s.doc.services[string(id)] = member{raw: raw, err: err}
	}
	return s
}

// ParseServices parses a discovery document. Relative URLs are resolved against final, its URL after
// redirects; if nil, against the well-known URL of host. The error is a [*failure.Error].
func ParseServices(host svchost.Hostname, final *url.URL, document []byte) (*Services, error) {
	if final == nil {
		final = wellKnown(host)
	}
	doc, err := parseDocument(final, document)
	if err != nil {
		return nil, failed(host, &failure.RequestError{URL: weburl.Redact(final), Err: err})
	}
	return &Services{host: host, tokenHost: host, doc: doc}, nil
}

// TokenHost returns the host whose token may be sent to these services, but not over http: for an alias, its
// target. It is zero if the document came over http.
func (s *Services) TokenHost() svchost.Hostname {
	if s.doc.overHTTP {
		return svchost.Hostname{}
	}
	return s.tokenHost
}

// IDs returns a sorted copy of all identifiers. They may contain any characters.
func (s *Services) IDs() []Service {
	ids := make([]Service, 0, len(s.doc.services))
	for id := range s.doc.services {
		ids = append(ids, Service(id))
	}
	slices.Sort(ids)
	return ids
}

// URL returns the absolute base URL of a service, without a fragment: https, or http if the Client has
// AllowHTTP. Its path may lack the final slash that references need. The error is a *ServiceError.
func (s *Services) URL(id Service) (*url.URL, error) {
	m, err := s.member(id)
	if err != nil {
		return nil, err
	}
	u, err := s.resolve(m)
	if err != nil {
		return nil, s.fail(id, err)
	}
	return u, nil
}

// resolve returns an absolute URL that may be requested.
func (s *Services) resolve(m member) (*url.URL, error) {
	text, err := m.text()
	if err != nil {
		return nil, err
	}
	ref, err := parseURL(text)
	if err != nil {
		return nil, err
	}
	if *ref == (url.URL{}) {
		return nil, errors.New("the URL is empty")
	}
	u := s.doc.base.ResolveReference(ref)
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		err = fmt.Errorf("scheme %q is neither https nor http", weburl.Clean(u.Scheme, maxShown))
	case u.User != nil:
		err = errors.New("it contains user information")
	default:
		_, _, err = svchost.Canonical(u)
	}
	if err != nil {
		return nil, fmt.Errorf("invalid URL %q: %w", weburl.Redact(u), err)
	}
	if u.Scheme != "https" && !s.allowHTTP {
		return nil, fmt.Errorf("%w: %s is not https; set AllowHTTP to permit it", failure.ErrInsecure, weburl.Redact(u))
	}
	return u, nil
}

// view returns s with other hosts.
func (s *Services) view(host, tokenHost svchost.Hostname, allowHTTP bool) *Services {
	if s == nil {
		s = &Services{}
	}
	if s.host == host && s.tokenHost == tokenHost && s.allowHTTP == allowHTTP {
		return s
	}
	other := *s
	other.host, other.tokenHost, other.allowHTTP = host, tokenHost, allowHTTP
	return &other
}

// wellKnown returns the URL of the discovery document.
func wellKnown(host svchost.Hostname) *url.URL {
	return &url.URL{Scheme: "https", Host: host.String(), Path: wellKnownPath}
}

// A Service is a service and its version. They are compared byte by byte.
type Service string

// Services that this module uses.
const (
	LoginV1     Service = "login.v1" // see [Services.OAuthClient]
	ModulesV1   Service = "modules.v1"
	ProvidersV1 Service = "providers.v1"
)

// split returns the name of the service, and whether id has the form NAME.vN. As in the CLI, only
// tfe may have a minor version, such as "tfe.v2.1".
func (id Service) split() (name string, ok bool) {
	name, version, _ := strings.Cut(string(id), ".")
	major, found := strings.CutPrefix(version, "v")
	minor := "0"
	if name == "tfe" && strings.Contains(major, ".") {
		major, minor, _ = strings.Cut(major, ".")
	}
	isNumber := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return name, found && name != "" && isNumber(major) && isNumber(minor)
}

// A ServiceError means that a host does not offer a service, or offers an invalid value.
type ServiceError struct {
	Host    svchost.Hostname // as requested
	Service Service          // as requested
	// Offered are the other versions for ErrServiceVersion, and all services for ErrNoService, sorted. They are
	// not checked; Error prints them safely.
	Offered []Service
	Err     error // one of the variables, failure.ErrInsecure, or what is wrong with the value
}

func (e *ServiceError) Error() string {
	text := fmt.Sprintf("%s at %s: %v", weburl.Clean(string(e.Service), maxShown), e.Host.Display(), e.Err)
	const limit = 8
	for i, id := range e.Offered[:min(len(e.Offered), limit)] {
		text += map[bool]string{true: "; the host offers ", false: ", "}[i == 0] + weburl.Clean(string(id), maxShown)
	}
	if more := len(e.Offered) - limit; more > 0 {
		return fmt.Sprintf("%s and %d more", text, more)
	}
	if len(e.Offered) == 0 && errors.Is(e.Err, ErrNoService) {
		return text + "; the host offers no services at all"
	}
	return text
}

func (e *ServiceError) Unwrap() error { return e.Err }

// maxShown limits text of the host in an error, in bytes.
const maxShown = 100

// member returns the value of a service, or a *ServiceError.
func (s *Services) member(id Service) (member, error) {
	name, valid := id.split()
	if !valid {
		return member{}, s.fail(id, ErrServiceID)
	}
	m, ok := s.doc.services[string(id)]
	switch {
	case m.err != nil:
		return member{}, s.fail(id, m.err)
	case ok && m.ambiguous:
		return member{}, s.fail(id, errors.New("declared twice, with different values"))
	case ok:
		return m, nil
	}
	all := s.IDs()
	versions := slices.DeleteFunc(slices.Clone(all), func(other Service) bool {
		return !strings.HasPrefix(string(other), name+".")
	})
	if len(versions) > 0 {
		return member{}, s.fail(id, ErrServiceVersion, versions...)
	}
	return member{}, s.fail(id, ErrNoService, all...)
}

func (s *Services) fail(id Service, err error, offered ...Service) error {
	return &ServiceError{Host: s.host, Service: id, Offered: offered, Err: err}
}
