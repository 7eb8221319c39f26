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

// Services is what a host offers. It comes from [Client.Discover], or from
// [NewServices] or [ParseServices]. It does not change, and is safe for
// concurrent use. The zero Services offers nothing.
type Services struct {
	host      svchost.Hostname
	tokenHost svchost.Hostname
	allowHTTP bool
	doc       document
}

// NewServices returns the services of host as a program states them, for
// [Hosts.Overrides] and for tests. A value is what the discovery document would
// have in its place: a string with a URL, which may be relative to the
// document's well-known URL at host; or, for login.v1, a map[string]any with the
// members "client", "authz", "token" and so on. Any value that encoding/json can
// encode is accepted. Like those of a document, values are checked when somebody
// asks for the service. A []map[string]any, which is how HCL 1 gives a block,
// stands for its first element.
//
// A value that cannot be encoded is an error of the service when somebody asks for it.
//
// The URL of each service is stated in full. No function takes a base URL and appends
// /v1/modules/ or /v1/providers/: these paths are a convention of some registries, and
// not part of the protocol.
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

// ParseServices reads a discovery document as [Client.Discover] does, without
// the request, for tools that write or check documents. The document is that of
// host. Relative URLs in it are resolved against final, the URL that answered
// after all redirects; nil stands for the well-known URL at host. Any error is
// a [*failure.Error].
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

// Host returns the hostname whose services these are: the one that was passed
// to Discover, also where an alias led to another one.
func (s *Services) Host() svchost.Hostname { return s.host }

// TokenHost returns the hostname whose token may be sent to these services. It
// is Host, or the target where Host is an alias.
func (s *Services) TokenHost() svchost.Hostname { return s.tokenHost }

// IDs returns the identifiers of all services, known or not, in byte order. The
// caller may change the slice. The identifiers come from the wire and may hold
// anything.
func (s *Services) IDs() []Service {
	ids := make([]Service, 0, len(s.doc.services))
	for id := range s.doc.services {
		ids = append(ids, Service(id))
	}
	slices.Sort(ids)
	return ids
}

// URL returns the base URL of a service: absolute, https, with a host, and
// without user information and fragment. The caller may change it. It can be
// http if the transport of the [Client] has AllowHTTP.
//
// The URL is returned as the host declares it, and a path without a slash at
// its end gets none here. Before the clients of the tofureg module resolve a
// reference against it, they add the slash, because otherwise the last part of
// the path would be lost.
//
// The error is a [*ServiceError] for ErrNoService, ErrServiceVersion, ErrServiceID or
// a value that is no acceptable URL. In the last case it wraps [ErrInsecure] if all that
// is wrong is http.
func (s *Services) URL(id Service) (*url.URL, error) {
	m, err := s.find(id)
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

// resolve turns a URL of the document into an absolute one that may be used.
func (s *Services) resolve(text string) (*url.URL, error) {
	u, err := s.doc.resolve(text)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "https" && !s.allowHTTP {
		return nil, fmt.Errorf("%w: %s is not https; Client.AllowHTTP would accept it", fault.ErrInsecure, weburl.Redact(u))
	}
	return u, nil
}

// view returns s as the answer to a question about host.
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

// wellKnown is the URL where discovery begins.
func wellKnown(host svchost.Hostname) *url.URL {
	return &url.URL{Scheme: "https", Host: host.String(), Path: wellKnownPath}
}
