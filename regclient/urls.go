package regclient

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
)

// endpoint returns the URL of a path below base. Base counts as a directory even
// without a final slash, and its query does not carry over. Each part is one
// segment, whatever characters it has.
func endpoint(base *url.URL, parts ...string) *url.URL {
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

// reference resolves what an answer from base names as its property. An empty one
// is nil: the server has no such file.
func (c *Client) reference(base *url.URL, property, ref string) (*url.URL, error) {
	if ref == "" {
		return nil, nil
	}
	u, err := parseReference(ref)
	if err == nil {
		u = base.ResolveReference(u)
		err = c.acceptable(u)
	}
	if err != nil {
		// The URL itself may carry a password or a presigned query.
		return nil, fmt.Errorf("%s: %w", property, err)
	}
	return u, nil
}

func parseReference(ref string) (*url.URL, error) {
	if strings.ContainsAny(ref, " \\") {
		return nil, errors.New("the URL holds a space or a backslash")
	}
	u, err := url.Parse(ref)
	if err != nil {
		return nil, errors.New("this is no URL")
	}
	return u, nil
}

// acceptable refuses URLs that packages cannot be fetched from.
func (c *Client) acceptable(u *url.URL) error {
	switch {
	case u.Opaque != "" || u.Hostname() == "":
		return errors.New("the URL names no host")
	case u.User != nil:
		return errors.New("the URL holds a user name")
	case u.Fragment != "":
		return errors.New("the URL holds a fragment")
	case u.Scheme == "http" && !c.AllowHTTP:
		return fmt.Errorf("the URL is http, which only Client.AllowHTTP permits: %w", fault.ErrInsecure)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the URL is neither https nor http: %w", fault.ErrInsecure)
	}
	return httpx.CheckHost(u)
}
