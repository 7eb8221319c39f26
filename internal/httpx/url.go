package httpx

import (
	"errors"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/internal/weburl"
)

// Endpoint returns the URL of a path below base. Base counts as a directory even
// without a final slash, and its query and fragment do not carry over. Each part is
// one segment, whatever characters it has.
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

// ParseReference parses a URL, which may be relative. Its errors do not repeat it,
// since it may carry a password or a presigned query.
func ParseReference(ref string) (*url.URL, error) {
	if strings.ContainsAny(ref, " \\") {
		return nil, errors.New("the URL holds a space or a backslash")
	}
	u, err := url.Parse(ref)
	if err != nil {
		return nil, errors.New("this is no URL")
	}
	return u, nil
}

// Resolve parses what a document from base names as the URL of a file, and checks it
// as CheckURL does. Where base is nil, ref must be absolute. Its errors do not repeat
// the URL.
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

// CheckURL refuses URLs that files cannot be fetched from.
func (c *Client) CheckURL(u *url.URL) error {
	switch {
	case u.Opaque != "" || u.Hostname() == "":
		return errors.New("the URL names no host")
	case u.User != nil:
		return errors.New("the URL holds a user name")
	case u.Fragment != "":
		return errors.New("the URL holds a fragment")
	}
	if err := c.checkScheme(u); err != nil {
		return err
	}
	return weburl.CheckHost(u)
}
