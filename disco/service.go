package disco

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/weburl"
)

// A Service identifies a service and the version of its protocol, as in
// "providers.v1". It is compared byte by byte, also where two would mean the
// same version: "providers.v01" is not "providers.v1".
type Service string

// The services that the tofureg module speaks to.
const (
	LoginV1     Service = "login.v1"     // OAuth login, see [Services.OAuthClient]
	ModulesV1   Service = "modules.v1"   // module registry
	ProvidersV1 Service = "providers.v1" // provider registry
)

// split returns the name of the service, and whether id has the form NAME.vN. As in the
// CLI, only tfe may have a minor version, as in "tfe.v2.1".
func (id Service) split() (name string, ok bool) {
	name, version, _ := strings.Cut(string(id), ".")
	major, found := strings.CutPrefix(version, "v")
	minor := "0"
	if name == "tfe" && strings.Contains(major, ".") {
		major, minor, _ = strings.Cut(major, ".")
	}
	return name, found && name != "" && isNumber(major) && isNumber(minor)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

var (
	// ErrNoService means that the host does not offer the service, in no
	// version. It comes in a [*ServiceError].
	ErrNoService = errors.New("service not offered")
	// ErrServiceVersion means that the host offers the service, but in other
	// versions. It comes in a [*ServiceError], which lists them.
	ErrServiceVersion = errors.New("service version not offered")
	// ErrServiceID means that the identifier that was asked for is malformed, so
	// that no host can offer it. It comes in a [*ServiceError].
	ErrServiceID = errors.New("invalid service identifier, want NAME.vN")
)

// A ServiceError says why a host's document has no URL, or no OAuth client, for
// a service.
type ServiceError struct {
	Host    svchost.Hostname // that was asked
	Service Service          // that was wanted
	// Offered lists, in order, the other versions of the service for
	// ErrServiceVersion, and all services of the host for ErrNoService. It is
	// empty otherwise. It comes from the wire and may hold anything.
	Offered []Service
	Err     error // ErrNoService, ErrServiceVersion, ErrServiceID, or what is wrong with the value
}

// Error returns a sentence of service, host, cause and what is offered.
func (e *ServiceError) Error() string {
	text := fmt.Sprintf("%s at %s: %v", weburl.Clean(string(e.Service), maxShown), e.Host.Display(), e.Err)
	switch {
	case len(e.Offered) > 0:
		return text + "; the host offers " + list(e.Offered)
	case errors.Is(e.Err, ErrNoService):
		return text + "; the host offers no services at all"
	}
	return text
}

// Unwrap returns the cause.
func (e *ServiceError) Unwrap() error { return e.Err }

// maxShown is how many bytes of a text from the wire an error shows.
const maxShown = 100

// list renders service identifiers for people: not too many, and without
// control characters.
func list(ids []Service) string {
	const most = 8
	var b strings.Builder
	for i, id := range ids[:min(len(ids), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(weburl.Clean(string(id), maxShown))
	}
	if more := len(ids) - most; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// find returns the value of a service, or the error for who asked for it.
func (s *Services) find(id Service) (member, error) {
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
		return member{}, &ServiceError{Host: s.host, Service: id, Offered: versions, Err: ErrServiceVersion}
	}
	return member{}, &ServiceError{Host: s.host, Service: id, Offered: all, Err: ErrNoService}
}

func (s *Services) fail(id Service, err error) error {
	return &ServiceError{Host: s.host, Service: id, Err: err}
}
