package disco

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/weburl"
)

const (
	wellKnownPath = "/.well-known/terraform.json"
	maxDocument   = 1 << 20
	maxServices   = 1000
)

// Services is the list of services of a host. It is immutable and safe for concurrent use. The
// zero Services is empty.
type Services struct {
	host      svchost.Hostname
	tokenHost svchost.Hostname
	allowHTTP bool
	doc       document
}

// NewServices returns services for [Hosts.Overrides] and tests. A value is as in a discovery
// document: a URL, absolute or relative to the well-known URL of host, or for login.v1 a
// map[string]any with the members "client", "authz", "token" and so on. A []map[string]any,
// which HCL 1 makes of a block, means its first element.
//
// An invalid value is an error of [Services.URL] or [Services.OAuthClient].
func NewServices(host svchost.Hostname, services map[Service]any) *Services {
	s := &Services{host: host, tokenHost: host, doc: document{base: wellKnown(host), services: make(object, len(services))}}
	for id, value := range services {
		if blocks, ok := value.([]map[string]any); ok && len(blocks) > 0 {
			value = blocks[0]
		}
		raw, err := json.Marshal(value)
		s.doc.services[string(id)] = member{raw: raw, err: err}
	}
	return s
}

// ParseServices parses a discovery document of host. Relative URLs are resolved against final,
// the URL of the document after redirects. If final is nil, it is the well-known URL of
// host. The error is a [*failure.Error].
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

// Host returns the host passed to Discover, also if it is an alias.
func (s *Services) Host() svchost.Hostname { return s.host }

// TokenHost returns the host whose token may be sent to these services: the target if Host is an
// alias, otherwise Host. It is zero if the document came over http, because anyone on the network
// may have chosen the services.
func (s *Services) TokenHost() svchost.Hostname {
	if s.doc.overHTTP {
		return svchost.Hostname{}
	}
	return s.tokenHost
}

// IDs returns a sorted copy of all identifiers, which may contain any characters.
func (s *Services) IDs() []Service {
	ids := make([]Service, 0, len(s.doc.services))
	for id := range s.doc.services {
		ids = append(ids, Service(id))
	}
	slices.Sort(ids)
	return ids
}

// URL returns the absolute base URL of a service, without a fragment. A URL with user information
// is invalid. It is https, or http if the [Client] that returned s has AllowHTTP.
//
// If the path lacks the final slash, add it before a reference is resolved against the URL, or
// the last part of the path is lost.
//
// The error is a [*ServiceError]. It wraps [ErrNoService], [ErrServiceVersion],
// [ErrServiceID], [ErrInsecure], or the reason why the value is invalid.
func (s *Services) URL(id Service) (*url.URL, error) {
	m, err := s.member(id)
	if err != nil {
		return nil, err
	}
	text, err := m.text()
	if err != nil {
		return nil, s.fail(id, err)
	}
	u, err := s.resolve(text)
	if err != nil {
		return nil, s.fail(id, err)
	}
	return u, nil
}

// resolve returns an absolute URL that may be requested.
func (s *Services) resolve(text string) (*url.URL, error) {
	u, err := s.doc.resolve(text)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "https" && !s.allowHTTP {
		return nil, fmt.Errorf("%w: %s is not https; set AllowHTTP to permit it", fault.ErrInsecure, weburl.Redact(u))
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
