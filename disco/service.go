package disco

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/weburl"
)

// A Service is the identifier of a service and its version, such as "providers.v1".
// Identifiers are compared byte by byte.
type Service string

// Services that this module uses.
const (
	LoginV1     Service = "login.v1"     // login by OAuth, see [Services.OAuthClient]
	ModulesV1   Service = "modules.v1"   // module registry
	ProvidersV1 Service = "providers.v1" // provider registry
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
	return name, found && name != "" && isNumber(major) && isNumber(minor)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

var (
	// ErrNoService means that the host does not offer any version of the service.
	ErrNoService = errors.New("service not offered")
	// ErrServiceVersion means that the host offers other versions of the service.
	ErrServiceVersion = errors.New("service version not offered")
	// ErrServiceID means that the requested identifier is invalid.
	ErrServiceID = errors.New("invalid service identifier, want NAME.vN")
)

// A ServiceError means that a host does not offer a service, or offers an invalid value.
type ServiceError struct {
	Host    svchost.Hostname // the requested host
	Service Service          // the requested service
	// Offered are the other versions for ErrServiceVersion, and all services for ErrNoService,
	// sorted. They are not checked; Error prints them safely.
	Offered []Service
	Err     error // ErrNoService, ErrServiceVersion, ErrServiceID, ErrInsecure, or what is wrong with the value
}

// Error returns service, host, cause and offered services.
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

// maxShown limits text of the host in an error, in bytes.
const maxShown = 100

// list returns the first identifiers in printable form.
func list(ids []Service) string {
	const limit = 8
	var b strings.Builder
	for i, id := range ids[:min(len(ids), limit)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(weburl.Clean(string(id), maxShown))
	}
	if more := len(ids) - limit; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

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
		return member{}, &ServiceError{Host: s.host, Service: id, Offered: versions, Err: ErrServiceVersion}
	}
	return member{}, &ServiceError{Host: s.host, Service: id, Offered: all, Err: ErrNoService}
}

func (s *Services) fail(id Service, err error) error {
	return &ServiceError{Host: s.host, Service: id, Err: err}
}
