package module

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// ResolveLocation parses the location in an answer to a request for base: the property
// "location", the header X-Terraform-Get, or the tag of a page. An answer that starts with
// "/", "./" or "../" is relative to base before any redirect, and never a local file. The
// error is an [*addrs.ParseError].
func ResolveLocation(base *url.URL, answer string) (*Location, error) {
	answer = strings.TrimSpace(answer)
	if !strings.HasPrefix(answer, "/") && !strings.HasPrefix(answer, "./") && !strings.HasPrefix(answer, "../") {
		return ParseLocation(answer)
	}
	// Resolving removes dots, but dots in the directory are relative to the package.
	address, query, _ := strings.Cut(answer, "?")
	offset := 0
	if strings.HasPrefix(address, "//") {
		offset = len("//") // before another host
	}
	rest, subdir := splitSubdir(address[offset:])
	u, reason := resolve(base, address[:offset]+rest)
	if reason != "" {
		return nil, refuse(answer, reason)
	}
	text := u.String()
	if subdir != "" {
		text += "//" + subdir
	}
	if query != "" {
		text += "?" + query
	}
	return ParseLocation(text)
}

// DirectLocation returns the location of an archive at the registry itself, for answers with
// the property use_registry_credentials, true or false. The answer is an http or https URL,
// relative to base or absolute. The caller sets UseRegistryCredentials. The error is an
// [*addrs.ParseError].
func DirectLocation(base *url.URL, answer string) (*Location, error) {
	answer = strings.TrimSpace(answer)
	u, reason := resolve(base, answer)
	switch {
	case answer == "":
		reason = "it is empty"
	case reason == "" && u.Scheme != "https" && u.Scheme != "http":
		reason = "its scheme must be https or http"
	case reason == "":
		reason = checkHost(u)
	}
	if reason != "" {
		return nil, refuse(answer, reason)
	}
	l := &Location{Kind: KindHTTP, URL: u.String(), Archive: formatOfPath(u.Path), Direct: true}
	if len(l.Source()) > maxLocation {
		return nil, refuse(answer, "it is too long")
	}
	return l, nil
}

// resolve resolves ref against base, or returns the reason why it is invalid.
func resolve(base *url.URL, ref string) (*url.URL, string) {
	if len(ref) > maxLocation {
		return nil, "it is too long"
	}
	u, err := url.Parse(ref)
	switch {
	case err != nil:
		return nil, "it is not a URL"
	case strings.Contains(ref, "#"):
		return nil, "it must not have a fragment"
	case strings.Contains(u.Path, `\`):
		return nil, "it contains a backslash"
	case strings.HasPrefix(ref, "//") && u.Host == "":
		return nil, "the host is missing"
	}
	return base.ResolveReference(u), ""
}

// pointsTo returns the location that the server at l named. It is for the same module, is not
// on this machine, and has no credentials.
func (l *Location) pointsTo(text string) (*Location, error) {
	if l.Checksum != "" {
		return nil, errors.New("the location has a checksum, but is a page and not an archive")
	}
	base, err := l.parsedURL()
	if err != nil {
		return nil, err
	}
	next, err := ResolveLocation(base, text)
	if err != nil {
		return nil, err
	}
	if err := next.checkRemote(); err != nil {
		return nil, err
	}
	next.Module, next.Version = l.Module, l.Version
	return next.WithSubdir(l.Subdir)
}

// checkRemote refuses a location on this machine, because a server must not name it.
func (l *Location) checkRemote() error {
	if l.isLocal() {
		return fmt.Errorf("%w: a server must not name %q", ErrLocal, l)
	}
	return nil
}

// isLocal reports whether local files would be read, by any method.
func (l *Location) isLocal() bool {
	u, err := url.Parse(l.URL)
	return err != nil || l.Kind == KindLocal || u.Scheme == "file"
}

// maxPage is how many bytes of a page are read.
const maxPage = 64 << 10

// nextInPage returns the location that an HTML page names by the first tag
//
//	<meta name="terraform-get" content="LOCATION">
//
// in its head, or "" if its first maxPage bytes have no such tag. Tags in comments and
// scripts are ignored. Errors come only from r.
func nextInPage(r io.Reader) (string, error) {
	z := html.NewTokenizer(io.LimitReader(r, maxPage))
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			if err := z.Err(); err != io.EOF {
				return "", err
			}
			return "", nil
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			name, _ := z.TagName()
			switch {
			case string(name) == "body", string(name) == "head" && kind == html.EndTagToken:
				return "", nil
			case string(name) == "meta":
				// The first of two equal attributes counts.
				attributes := map[string]string{}
				for more := true; more; {
					var key, value []byte
					key, value, more = z.TagAttr()
					if _, ok := attributes[string(key)]; !ok {
						attributes[string(key)] = string(value)
					}
				}
				location := strings.TrimSpace(attributes["content"])
				if strings.EqualFold(attributes["name"], "terraform-get") && location != "" {
					return location, nil
				}
			}
		}
	}
}
