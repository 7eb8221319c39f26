package module

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Location is the location of a package. [Download] checks the fields. URL and the JSON form can contain secrets.
type Location struct {
	// Module and Version are zero unless a registry named the location.
	Module  addrs.Module  `json:"module,omitzero"`
	Version addrs.Version `json:"version,omitzero"`

	Kind Kind `json:"kind"` // the method

	// URL lacks Subdir and the parameters in other fields. For KindLocal it is a file URL. For KindGit it can have the
	// parameter depth, with which Ref is a branch rather than a tag of the same name.
	URL string `json:"url"`

	Subdir string `json:"subdir,omitempty"` // the directory, with slashes; an element such as "acme-*" matches exactly one

	// Archive is the format by the path or the parameter "archive": "zip", "tar.gz", "tar.xz", "tar.bz2", "none" for a
	// page ("archive=false"), or "" if unknown. Except for "none", the first bytes decide.
	Archive string `json:"archive,omitempty"`

	Checksum string `json:"checksum,omitempty"` // empty or ALGORITHM:HEX with md5, sha1, sha256 or sha512

	Ref string `json:"ref,omitempty"` // branch, tag, commit, revision or generation; empty for the default or the newest

	// Tag or Digest names an OCI artifact. If both are empty, the tag is "latest".
	Tag    string `json:"tag,omitempty"`
	Digest string `json:"digest,omitempty"`

	Getter string `json:"getter,omitempty"` // of KindOther: the word before "::" or the scheme

	Direct bool `json:"direct,omitempty"` // see [DirectLocation]

	UseRegistryCredentials bool `json:"use_registry_credentials,omitempty"` // see [Opener]
}

// Source returns text for [ParseLocation] and go-getter, with secrets.
func (l Location) Source() string { return l.text(l.URL, l.Subdir, "") }

// String returns printable text without users except "git", parameters in URL, and path segments that look like tokens.
func (l Location) String() string {
	hidden := ""
	if _, query, _ := strings.Cut(l.URL, "?"); query != "" {
		hidden = weburl.Ellipsis
	}
	return weburl.Clean(l.text(showAddress(l.URL), l.Subdir, hidden), maxShown)
}

// text returns the location as text, with one more parameter hidden.
func (l Location) text(address, subdir, hidden string) string {
	address, query, _ := strings.Cut(address, "?")
	var b strings.Builder
	if g := l.getter(); g != "" {
		b.WriteString(g + "::")
	}
	if subdir == "" {
		b.WriteString(address)
	} else {
		b.WriteString(strings.TrimRight(address, "/") + "//" + subdir) // not a third slash
	}
	sep := "?"
	add := func(s string) {
		if s != "" {
			b.WriteString(sep + s)
			sep = "&"
		}
	}
	add(query)
	addParameter := func(name, value string) {
		if value != "" { // escaped less than by url.QueryEscape, for readability
			add(name + "=" + strings.NewReplacer("%2F", "/", "%3A", ":").Replace(url.QueryEscape(value)))
		}
	}
	switch l.Kind {
	case KindMercurial:
		addParameter("rev", l.Ref)
	case KindGit:
		addParameter("ref", l.Ref)
	}
	switch l.Archive {
	case formatOfPath(l.URL):
	case formatNone:
		addParameter("archive", "false")
	default:
		addParameter("archive", l.Archive)
	}
	addParameter("checksum", l.Checksum)
	addParameter("tag", l.Tag)
	addParameter("digest", l.Digest)
	add(hidden)
	if l.Kind == KindGCS && l.Ref != "" {
		b.WriteString("#" + l.Ref)
	}
	return b.String()
}

// getter returns the word before "::", or "".
func (l Location) getter() string {
	switch l.Kind {
	case KindGit, KindMercurial, KindS3, KindGCS:
		return string(l.Kind)
	case KindOther:
		if scheme, _, ok := strings.Cut(l.URL, ":"); !ok || strings.ToLower(scheme) != l.Getter {
			return l.Getter
		}
	}
	return ""
}

// MayBePage reports whether the location is of KindHTTP, not Direct, and with Archive "" or "none".
func (l Location) MayBePage() bool {
	return l.Kind == KindHTTP && !l.Direct && (l.Archive == "" || l.Archive == formatNone)
}

// WithSubdir returns a copy with subdir, checked by [addrs.ParseSubdir], appended to Subdir.
func (l Location) WithSubdir(subdir string) (*Location, error) {
	joined, err := joinSubdir(l.Subdir, subdir)
	if err != nil {
		return nil, err
	}
	l.Subdir = joined
	return &l, nil
}

// checked returns a copy of l as ParseLocation returns it, or an error if its fields
// contradict each other.
func (l *Location) checked() (*Location, error) {
	if l == nil {
		return nil, refuse("", "the location is missing")
	}
	var p *Location
	var err error
	if !l.Direct {
		p, err = ParseLocation(l.text(l.URL, "", ""))
	} else if p, err = DirectLocation(&url.URL{}, l.URL); err == nil {
		var reason string
		p.Checksum, reason = canonicalChecksum(l.Checksum)
		if l.Ref+l.Tag+l.Digest+l.Getter != "" {
			reason = "a direct location has no ref, tag, digest or getter"
		}
		if reason != "" {
			return nil, refuse(l.URL, reason)
		}
	}
	if err != nil {
		return nil, err
	}
	if p.Kind != l.Kind {
		return nil, refuse(l.URL, "the URL is not of kind "+string(l.Kind))
	}
	p.UseRegistryCredentials = l.UseRegistryCredentials && l.Direct
	p.Module, p.Version = l.Module, l.Version
	return p.WithSubdir(l.Subdir)
}

// parsedURL returns the URL of l, an ssh URL for git's form HOST:PATH.
func (l *Location) parsedURL() (*url.URL, error) {
	address := l.URL
	if l.Kind == KindGit {
		address = sshURL(address)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, refuse(l.URL, "it is not a URL")
	}
	return u, nil
}

// Kind is the kind of a [Location].
type Kind string

const (
	KindHTTP      Kind = "http"  // an archive, or a page that names another location
	KindGit       Kind = "git"   // a git repository
	KindMercurial Kind = "hg"    // a Mercurial repository
	KindS3        Kind = "s3"    // Amazon S3
	KindGCS       Kind = "gcs"   // Google Cloud Storage
	KindOCI       Kind = "oci"   // an OCI registry
	KindLocal     Kind = "local" // a directory or archive on this machine
	KindOther     Kind = "other" // see [Location.Getter]
)

// formatNone is the archive format of a page.
const formatNone = "none"

// ResolveLocation parses the location in an answer to a request for base, the URL before any redirect: the property
// "location", the header X-Terraform-Get, or the tag of a page. An answer that starts with "/", "./" or "../" is
// relative to base, never a local file.
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

// DirectLocation is [ResolveLocation] for answers with the property use_registry_credentials: the whole answer is
// the http or https URL of an archive, absolute or relative to base. The caller sets UseRegistryCredentials to the
// property.
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
	return next.named(l.Module, l.Version, l.Subdir)
}

// named returns the location that a server has named for a directory of a module. It must not be on this machine.
func (l *Location) named(m addrs.Module, v addrs.Version, subdir string) (*Location, error) {
	if l.isLocal() {
		return nil, fmt.Errorf("%w: a server must not name %q", ErrLocal, l)
	}
	named := *l
	named.Module, named.Version = m, v
	return named.WithSubdir(subdir)
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
