package module

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/tofureg/tofureg/internal/weburl"
)

// classify sets the kind by the word before "::", or else by the scheme.
func (p *parser) classify() string {
	p.address = strings.ReplaceAll(p.address, " ", "%20")
	u, err := url.Parse(p.address)
	if err != nil {
		if rest, ok := strings.CutPrefix(p.address, "ssh://git@"); ok && !strings.ContainsAny(rest, "[]%") {
			p.suggestion = "git::git@" + weburl.Clean(rest, maxInput)
			return "its port is not a number"
		}
		return "it is not a URL"
	}
	switch rest, ok := strings.CutPrefix(p.address[len(u.Scheme):], "://"); {
	case !ok:
		return reasonNeither
	case strings.Contains(rest, "//"):
		return "its path has an empty element"
	case strings.Contains(rest, "#"):
		return "it must not have a fragment"
	case strings.ContainsFunc(rest+p.query, unicode.IsSpace):
		return "it must not have spaces"
	}
	return p.kind(u)
}

// kind sets the kind and checks the URL for it.
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
		return "host and path are missing"
	}
	return checkText(u)
}

// checkHost refuses URLs without a host.
func checkHost(u *url.URL) string {
	if u.Opaque != "" || u.Hostname() == "" {
		return "the host is missing"
	}
	return checkText(u)
}

// checkText refuses hosts, users and paths that a program could take for an option or another
// path.
func checkText(u *url.URL) string {
	switch {
	case strings.HasPrefix(u.Host, "-"):
		return "its host starts with a hyphen"
	case strings.HasPrefix(u.User.Username(), "-"):
		return "its user starts with a hyphen"
	case u.Scheme != "https" && u.Scheme != "http" && strings.Contains(u.User.String(), "%"):
		return "its user has an escaped character" // git decodes it before it finds the host
	case strings.Contains(u.Path, `\`):
		return "it contains a backslash"
	}
	return ""
}

// checkRepository refuses URLs that a program could misread.
func checkRepository(u *url.URL, schemes ...string) string {
	switch {
	case !slices.Contains(schemes, u.Scheme):
		return "the scheme is not supported for repositories"
	case u.Scheme == "file":
		return checkFile(u)
	case u.Path == "" || u.Path == "/":
		return "the path of the repository is missing"
	}
	return checkHost(u)
}

func checkFile(u *url.URL) string {
	switch {
	case u.Opaque != "" || u.Host != "" && u.Host != "localhost" || u.User != nil:
		return "a file URL must be file:///PATH"
	case strings.Trim(u.Path, "/") == "":
		return "the path is missing"
	}
	return ""
}

func checkOCI(u *url.URL) string {
	switch repository := strings.Trim(u.Path, "/"); {
	case u.Scheme != "oci":
		return "it must be oci://HOST/REPOSITORY"
	case u.User != nil:
		return "it must not have a user name"
	case repository == "" || strings.ContainsAny(repository, "@:"):
		return `it must be oci://HOST/REPOSITORY, with the version as "?tag=" or "?digest="`
	}
	return checkHost(u)
}

// The short forms of addresses. Each method reports whether the address has its form, and
// returns the reason if it is invalid.

// github accepts github.com/OWNER/REPO, which a directory may follow.
func (p *parser) github() (bool, string) { return p.hosted("github.com", true) }

// bitbucket accepts bitbucket.org/OWNER/REPO.
func (p *parser) bitbucket() (bool, string) { return p.hosted("bitbucket.org", false) }

func (p *parser) hosted(host string, subdirs bool) (bool, string) {
	rest, ok := strings.CutPrefix(p.address, host+"/")
	if !ok {
		return false, ""
	}
	owner, rest, _ := strings.Cut(rest, "/")
	repo, subdir, _ := strings.Cut(rest, "/")
	if owner == "" || repo == "" || subdir != "" && !subdirs {
		return true, "it must be " + host + "/OWNER/REPO"
	}
	p.repository("https://" + host + "/" + owner + "/" + strings.TrimSuffix(repo, ".git") + ".git")
	return true, p.addSubdir(subdir)
}

// scp accepts git@HOST:PATH. Another user than git needs "git::".
func (p *parser) scp() (bool, string) {
	user, rest, ok := strings.Cut(p.address, "@")
	host, path, colon := strings.Cut(rest, ":")
	switch {
	case !ok || !colon || strings.ContainsAny(user+host, "/:@"):
		return false, ""
	case user != "git" && p.forced != "git":
		return false, ""
	case user == "" || host == "" || strings.Trim(path, "/") == "":
		return true, "it must be git@HOST:PATH"
	}
	u := url.URL{Scheme: "ssh", User: url.User(user), Host: host, Path: "/" + strings.TrimLeft(path, "/")}
	p.repository(u.String())
	return true, ""
}

func (p *parser) repository(address string) {
	p.address = address
	if p.forced == "" {
		p.forced = "git"
	}
}

// gcs accepts www.googleapis.com/storage/VERSION/BUCKET/OBJECT.
func (p *parser) gcs() (bool, string) {
	host, path, _ := strings.Cut(p.address, "/")
	if !strings.HasSuffix(host, ".googleapis.com") {
		return false, ""
	}
	parts := strings.SplitN(path, "/", 4)
	if len(parts) < 4 || parts[0] != "storage" || !strings.HasPrefix(parts[1], "v") || parts[2] == "" || parts[3] == "" {
		return true, "it must be www.googleapis.com/storage/v1/BUCKET/OBJECT"
	}
	p.address = "https://www.googleapis.com/" + path
	return true, p.force("gcs")
}

// s3 accepts the forms of S3 URLs: s3[-REGION].amazonaws.com/BUCKET,
// BUCKET.s3[-REGION].amazonaws.com and BUCKET.s3.REGION.amazonaws.com.
func (p *parser) s3() (bool, string) {
	const form = "it must be s3.amazonaws.com/BUCKET/OBJECT or BUCKET.s3.amazonaws.com/OBJECT"
	host, path, found := strings.Cut(p.address, "/")
	name, ok := strings.CutSuffix(host, ".amazonaws.com")
	if !ok {
		return false, ""
	}
	labels := strings.Split(name, ".")
	switch {
	case !found || path == "":
		return true, form
	case len(labels) == 1, len(labels) == 2 && labels[0] == "s3":
		p.address = "https://" + host + "/" + path
	case len(labels) == 2:
		p.address = "https://" + labels[1] + ".amazonaws.com/" + labels[0] + "/" + path
	case len(labels) == 3 && labels[1] == "s3":
		p.address = "https://s3." + labels[2] + ".amazonaws.com/" + labels[0] + "/" + path
	default:
		return true, form
	}
	return true, p.force("s3")
}

// force sets the only getter that a short form has.
func (p *parser) force(getter string) string {
	if p.forced != "" && p.forced != getter {
		return "it is an address of " + getter + "::, not of " + p.forced + "::"
	}
	p.forced = getter
	return ""
}
