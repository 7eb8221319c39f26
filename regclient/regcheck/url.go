package regcheck

import (
	"fmt"
	"net/url"
)

// resolve reads an https or http URL in the document at base, and may be relative to it.
func resolve(base *url.URL, property, ref string) (*url.URL, error) {
	if ref == "" {
		return nil, fmt.Errorf("%s is missing", property)
	}
	u, err := base.Parse(ref)
	if err != nil {
		return nil, fmt.Errorf("%s is no URL", property)
	}
	if u.User != nil {
		return nil, fmt.Errorf("%s: %s: it holds a user name", property, shownURL(u))
	}
	if u.Scheme != "http" || u.Host == "" {
		err = overHTTPS(u)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", property, err)
	}
	return u, nil
}

// fileURL reads the URL of a file in the document at base. An http URL is a failure that does not
// concern the rest of the document.
func (e *examiner) fileURL(base *url.URL, property, ref string) (*url.URL, error) {
	u, err := resolve(base, property, ref)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shownURL(base), err)
	}
	if err := e.permitted(u); err != nil {
		e.note(Failed, fmt.Sprintf("%s: %s: %v", shownURL(base), property, err))
	}
	return u, nil
}

// permitted returns an error if u must not be asked.
func (e *examiner) permitted(u *url.URL) error {
	if e.o.AllowHTTP && u.Scheme == "http" && u.Host != "" {
		return nil
	}
	return overHTTPS(u)
}

func overHTTPS(u *url.URL) error {
	if u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s: not an https URL", shownURL(u))
	}
	return nil
}

// shownURL leaves out what may be secret.
func shownURL(u *url.URL) string {
	c := *u
	c.User, c.Fragment, c.RawFragment = nil, "", ""
	if c.RawQuery != "" {
		c.RawQuery = "..."
	}
	return c.String()
}
