package module

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/tofureg/tofureg/internal/weburl"
)

// classify finds the kind by what stands before "::", or else by the scheme.
func (p *parser) classify() string {
	p.address = strings.ReplaceAll(p.address, " ", "%20")
	u, err := url.Parse(p.address)
	if err != nil {
		if rest, ok := strings.CutPrefix(p.address, "ssh://git@"); ok && !strings.ContainsAny(rest, "[]%") {
			p.suggestion = "git::git@" + weburl.Clean(rest, maxInput)
			return "its port is no number"
		}
		return "this is no URL"
	}
	switch rest, ok := strings.CutPrefix(p.address[len(u.Scheme):], "://"); {
	case !ok:
		return reasonNeither
	case strings.Contains(rest, "//"):
		return "its path has an empty element"
	case strings.Contains(rest, "#"):
		return "it must have no fragment"
	case strings.ContainsFunc(rest+p.query, unicode.IsSpace):
		return "it must have no spaces"
	}
	return p.kind(u)
}

// kind finds the kind and checks what it demands of the URL.
func (p *parser) kind(u *url.URL) string {
	getter := p.forced
	if getter == "" {
		getter = u.Scheme
	}
	switch getter {
	case "http", "https":
		p.Kind = KindHTTP
		if u.Scheme != "http" && u.Scheme != "https" {
			return "its scheme must be https or http"
		}
		return checkHost(u)
	case "git":
		p.Kind = KindGit
		return checkRepository(u, "https", "ssh", "git+ssh", "ssh+git", "http", "git", "file")
	case "hg":
		p.Kind = KindMercurial
		return checkRepository(u, "https", "ssh", "http", "file")
	case "s3", "gcs":
		p.Kind = Kind(getter)
		return checkHost(u)
	case "oci":
		p.Kind = KindOCI
		return checkOCI(u)
	case "file":
		p.Kind = KindLocal
		return checkFile(u)
	}
	p.Kind, p.Getter = KindOther, getter
	if u.Host == "" && strings.Trim(u.Path, "/") == "" {
		return "it names nothing"
	}
	return checkText(u)
}

// checkHost refuses URLs without a host.
func checkHost(u *url.URL) string {
	if u.Opaque != "" || u.Hostname() == "" {
		return "it names no host"
	}
	return checkText(u)
}

// checkText refuses what a program could take for an option, or for another path.
func checkText(u *url.URL) string {
	switch {
	case strings.HasPrefix(u.Host, "-"):
		return "its host starts with a hyphen"
	case strings.HasPrefix(u.User.Username(), "-"):
		return "its user starts with a hyphen"
	case strings.Contains(u.Path, `\`):
		return "it holds a backslash"
	}
	return ""
}

// checkRepository refuses what a program that fetches repositories could misread.
func checkRepository(u *url.URL, schemes ...string) string {
	switch {
	case !slices.Contains(schemes, u.Scheme):
		return "a repository cannot be at a URL of this scheme"
	case u.Scheme == "file":
		return checkFile(u)
	case u.Path == "" || u.Path == "/":
		return "it names no repository"
	}
	return checkHost(u)
}

func checkFile(u *url.URL) string {
	switch {
	case u.Opaque != "" || u.Host != "" && u.Host != "localhost" || u.User != nil:
		return "a file URL must be file:///PATH"
	case strings.Trim(u.Path, "/") == "":
		return "it names no directory and no file"
	}
	return ""
}

func checkOCI(u *url.URL) string {
	switch repository := strings.Trim(u.Path, "/"); {
	case u.Scheme != "oci":
		return "it must be oci://HOST/REPOSITORY"
	case u.User != nil:
		return "it must have no user name"
	case repository == "" || strings.ContainsAny(repository, "@:"):
		return `it must be oci://HOST/REPOSITORY, with the version as "?tag=" or "?digest="`
	}
	return checkHost(u)
}
