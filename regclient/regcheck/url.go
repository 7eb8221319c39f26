package regcheck

import (
	"fmt"
	"net/url"

	"github.com/tofureg/tofureg/internal/weburl"
)

// resolve parses an https or http URL, which may be relative to base.
func resolve(base *url.URL, property, ref string) (*url.URL, error) {
	if ref == "" {
		return nil, fmt.Errorf("%s is missing", property)
	}
	u, err := base.Parse(ref)
	if err != nil {
		return nil, fmt.Errorf("%s is not a URL", property)
	}
	if u.User != nil {
		return nil, fmt.Errorf("%s: %s has a user name", property, weburl.Redact(u))
	}
	if u.Scheme != "http" || u.Host == "" {
		err = overHTTPS(u)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", property, err)
	}
	return u, nil
}

// fileURL resolves the URL of a file in the document at base. An http URL is reported, and the
// rest of the document is still checked.
func (e *examiner) fileURL(base *url.URL, property, ref string) (*url.URL, error) {
	u, err := resolve(base, property, ref)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", weburl.Redact(base), err)
	}
	if err := e.permitted(u); err != nil {
		e.note(Failed, fmt.Sprintf("%s: %s: %v", weburl.Redact(base), property, err))
	}
	return u, nil
}

// permitted returns an error if u must not be requested.
func (e *examiner) permitted(u *url.URL) error {
	if e.o.AllowHTTP && u.Scheme == "http" && u.Host != "" {
		return nil
	}
	return overHTTPS(u)
}

func overHTTPS(u *url.URL) error {
	if u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s: not an https URL", weburl.Redact(u))
	}
	return nil
}
