package mirrorclient

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
)

// parseBase checks a base URL and adds the slash at its end. Host is zero where the URL
// has an IPv6 literal, which no token can belong to.
func parseBase(text string, allowHTTP bool) (base *url.URL, host svchost.Hostname, err error) {
	if text == "" {
		return nil, host, errors.New("Client.BaseURL is empty")
	}
	u, err := parseReference(text)
	if err == nil && u.Scheme == "" {
		err = errors.New("the URL does not start with https://")
	}
	if err == nil {
		err = acceptable(u, allowHTTP)
	}
	if err == nil && (u.RawQuery != "" || u.ForceQuery) {
		err = errors.New("the URL holds a query")
	}
	if err == nil && !strings.HasPrefix(u.Host, "[") {
		host, err = svchost.FromWire(u.Host)
	}
	if err != nil {
		// The URL itself may carry a password.
		return nil, host, fmt.Errorf("Client.BaseURL: %w", err)
	}
	return endpoint(u, ""), host, nil
}

// endpoint returns the URL of a path below base, which counts as a directory even
// without a final slash. Each part is one segment, whatever characters it has.
func endpoint(base *url.URL, parts ...string) *url.URL {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = url.PathEscape(part)
	}
	u := *base
	u.Path = strings.TrimSuffix(base.Path, "/") + "/" + strings.Join(parts, "/")
	u.RawPath = strings.TrimSuffix(base.EscapedPath(), "/") + "/" + strings.Join(escaped, "/")
	return &u
}

// reference resolves what a document from base names as the URL of an archive.
func (c *Client) reference(base *url.URL, ref string) (*url.URL, error) {
	if ref == "" {
		return nil, errors.New("it is missing")
	}
	u, err := parseReference(ref)
	if err != nil {
		return nil, err
	}
	u = base.ResolveReference(u)
	if err := acceptable(u, c.AllowHTTP); err != nil {
		return nil, err
	}
	return u, nil
}

// parseReference parses a URL. Its errors do not repeat it, since it may carry a
// password or a presigned query.
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

// acceptable refuses URLs that nothing can be fetched from.
func acceptable(u *url.URL, allowHTTP bool) error {
	switch {
	case u.Opaque != "" || u.Hostname() == "":
		return errors.New("the URL names no host")
	case u.User != nil:
		return errors.New("the URL holds a user name")
	case u.Fragment != "":
		return errors.New("the URL holds a fragment")
	case u.Scheme == "http" && !allowHTTP:
		return fmt.Errorf("the URL is http, which only Client.AllowHTTP permits: %w", fault.ErrInsecure)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the URL is neither https nor http: %w", fault.ErrInsecure)
	}
	return httpx.CheckHost(u)
}
