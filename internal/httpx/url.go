package httpx

import (
	"errors"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/internal/weburl"
)

// Endpoint returns the URL of a path below base, without the query and fragment of base. Base need not
// end with a slash. Each part is escaped as one segment.
func Endpoint(base *url.URL, parts ...string) *url.URL {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = url.PathEscape(part)
	}
	u := *base
	u.Path = strings.TrimSuffix(base.Path, "/") + "/" + strings.Join(parts, "/")
	u.RawPath = strings.TrimSuffix(base.EscapedPath(), "/") + "/" + strings.Join(escaped, "/")
	u.RawQuery, u.ForceQuery = "", false
	u.Fragment, u.RawFragment = "", ""
	return &u
}

// ParseReference parses an absolute or relative URL. The error does not contain the URL, which may
// contain credentials.
func ParseReference(ref string) (*url.URL, error) {
	if strings.ContainsAny(ref, " \\") {
		return nil, errors.New("the URL contains a space or a backslash")
	}
	u, err := url.Parse(ref)
	if err != nil {
		return nil, errors.New("invalid URL")
	}
	return u, nil
}

// Resolve parses the URL of a file in a document from base, and checks it like CheckURL. If base is
// nil, ref must be absolute. The error does not contain the URL.
func (c *Client) Resolve(base *url.URL, ref string) (*url.URL, error) {
	u, err := ParseReference(ref)
	if err != nil {
		return nil, err
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if err := c.CheckURL(u); err != nil {
		return nil, err
	}
	return u, nil
}

// CheckURL returns an error if a client cannot request a file from u.
func (c *Client) CheckURL(u *url.URL) error {
	switch {
	case u.Opaque != "" || u.Hostname() == "":
		return errors.New("the URL has no host")
	case u.User != nil:
		return errors.New("the URL contains a user name")
	case u.Fragment != "":
		return errors.New("the URL contains a fragment")
	}
	if err := c.checkScheme(u); err != nil {
		return err
	}
	return weburl.CheckHost(u)
}
