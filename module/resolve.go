package module

import (
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

// MaxPage is how many bytes [ParseMeta] reads.
const MaxPage = 64 << 10

// ParseMeta returns the location that an HTML page names by the first tag
//
//	<meta name="terraform-get" content="LOCATION">
//
// in its head, or "" if its first [MaxPage] bytes have no such tag. Tags in comments and
// scripts are ignored. Errors come only from r.
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

// metaLocation returns the location that the tag names. The first of two equal attributes
// counts.
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
