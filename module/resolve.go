package module

import (
	"net/url"
	"strings"
)

// ResolveLocation reads a location that a server answered with to a request for
// base. One that starts with "/", "./" or "../" is relative to base: to the URL as it
// was requested, not to where redirects led. It can therefore never be a file of this
// machine. Everything else is for [ParseLocation].
//
// The answer is the property "location" or the header X-Terraform-Get of a registry,
// or the same header or tag of a page. The error is an [*addrs.ParseError].
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

// DirectLocation makes the location of a package that the registry serves itself, as
// it says by use_registry_credentials, true or false, in the answer to a request for base. The
// answer is then a URL, relative to base or absolute, of an archive and nothing else:
// it has no subdirectory and no parameters with a meaning. It must be https or http
// and have no fragment. Field UseRegistryCredentials is left to the caller.
//
// The error is an [*addrs.ParseError]. An empty answer is an error too, although the
// CLI takes it for base.
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
