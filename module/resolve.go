package module

import (
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// ResolveLocation parses the location that a server answered to a request for base: the
// property "location" or the header X-Terraform-Get of a registry, or the header or tag of a
// page. A location that starts with "/", "./" or "../" is relative to base, the URL that was
// requested before any redirect, and never a file of this machine. Any other location is
// parsed by [ParseLocation]. The error is an [*addrs.ParseError].
func ResolveLocation(base *url.URL, answer string) (*Location, error) {
	answer = strings.TrimSpace(answer)
	if !strings.HasPrefix(answer, "/") && !strings.HasPrefix(answer, "./") && !strings.HasPrefix(answer, "../") {
		return ParseLocation(answer)
	}
	// Resolving takes dots out, but those of the directory are about the package.
	address, query, _ := strings.Cut(answer, "?")
	offset := 0
	if strings.HasPrefix(address, "//") {
		offset = len("//") // of another host
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

// DirectLocation returns the location of a package that the registry serves itself: the
// answer to a request for base had the property use_registry_credentials, true or false. The
// answer is then the URL of an archive, relative to base or absolute, without a subdirectory,
// a fragment or parameters for [ParseLocation]. Its scheme must be https or http. The caller
// sets UseRegistryCredentials.
//
// The error is an [*addrs.ParseError]. An empty answer is refused, although the CLI takes it
// for base.
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

// resolve returns the URL that ref is, seen from base, or what is wrong with it.
func resolve(base *url.URL, ref string) (*url.URL, string) {
	if len(ref) > maxLocation {
		return nil, "it is too long"
	}
	u, err := url.Parse(ref)
	switch {
	case err != nil:
		return nil, "this is no URL"
	case strings.Contains(ref, "#"):
		return nil, "it must have no fragment"
	case strings.Contains(u.Path, `\`):
		return nil, "it holds a backslash"
	case strings.HasPrefix(ref, "//") && u.Host == "":
		return nil, "it names no host"
	}
	return base.ResolveReference(u), ""
}

// MaxPage is how many bytes of a page [ParseMeta] looks at.
const MaxPage = 64 << 10

// ParseMeta returns the location that an HTML page names by a tag
//
//	<meta name="terraform-get" content="LOCATION">
//
// in its head, or "" if its first [MaxPage] bytes have no such tag. If there are several,
// the first one counts. Tags in comments, scripts, styles and other elements without markup
// are ignored. Names are compared without case. Malformed pages are not an error: the error
// is that of r.
func ParseMeta(r io.Reader) (string, error) {
	z := html.NewTokenizer(io.LimitReader(r, MaxPage))
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
				if location := metaLocation(z); location != "" {
					return location, nil
				}
			}
		}
	}
}

// metaLocation returns the location that the tag names. Of an attribute that occurs twice
// the first counts.
func metaLocation(z *html.Tokenizer) string {
	attributes := map[string]string{}
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		if _, ok := attributes[string(key)]; !ok {
			attributes[string(key)] = string(value)
		}
	}
	if !strings.EqualFold(attributes["name"], "terraform-get") {
		return ""
	}
	return strings.TrimSpace(attributes["content"])
}
