package module

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Location is the location of a module package. Its JSON form can be stored.
//
// URL can contain user information and presigned queries. Treat it, Source and the JSON form
// as secret.
type Location struct {
	// Module and Version are zero if the location did not come from a registry.
	Module  addrs.Module  `json:"module,omitzero"`
	Version addrs.Version `json:"version,omitzero"`

	// Kind is the method by which to fetch the package.
	Kind Kind `json:"kind"`

	// URL is the URL without the parameters in other fields: https://HOST/PATH for KindHTTP,
	// file:///PATH for KindLocal.
	URL string `json:"url"`

	// Subdir is the directory of the module in the package, with slashes. An element such as
	// "*" or "acme-*" matches exactly one directory.
	Subdir string `json:"subdir,omitempty"`

	// Archive is the format that the path or the parameter "archive" states.
	Archive Format `json:"archive,omitempty"`

	// Checksum is the checksum of the archive, or empty: md5, sha1, sha256 or sha512, a
	// colon, and hex digits. A [Fetcher] must verify it.
	Checksum string `json:"checksum,omitempty"`

	// Ref is the branch, tag or commit of a repository; empty for its default branch.
	Ref string `json:"ref,omitempty"`

	// Depth is the parameter depth, which [Git] ignores.
	Depth int `json:"depth,omitempty"`

	// Tag or Digest names an OCI artifact. If both are empty, the tag is "latest".
	Tag    string `json:"tag,omitempty"`
	Digest string `json:"digest,omitempty"`

	// Getter is the method of KindOther: the word before "::", or the scheme of the URL.
	Getter string `json:"getter,omitempty"`

	// Direct means that URL is an archive at the registry itself, see [DirectLocation].
	Direct bool `json:"direct,omitempty"`

	// UseRegistryCredentials means that the request needs the token of the registry. Clients
	// set it from the answer of a registry. Without Direct it has no effect.
	UseRegistryCredentials bool `json:"use_registry_credentials,omitempty"`
}

// Source returns the location as [ParseLocation] and go-getter read it. It contains secrets.
func (l Location) Source() string { return l.text(l.URL, l.Subdir, "") }

// PackageSource is like [Location.Source] without Subdir, for tools that download packages
// themselves. If Direct is set, use [DownloadLocation] instead, which sends the token of the
// registry if necessary.
func (l Location) PackageSource() string { return l.text(l.URL, "", "") }

// String returns the location for people, in at most 1,000 bytes, without user information
// and control characters. Parameters and path segments that look like tokens become "...".
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
	for _, p := range l.parameters() {
		if p.value != "" {
			add(p.name + "=" + escapeParameter(p.value))
		}
	}
	add(hidden)
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

type parameter struct{ name, value string }

// parameters returns the parameters that are fields.
func (l Location) parameters() []parameter {
	ref := "ref"
	if l.Kind == KindMercurial {
		ref = "rev"
	}
	archive := string(l.Archive)
	switch {
	case l.Archive == FormatNone:
		archive = "false"
	case l.Archive == formatOfPath(l.URL):
		archive = ""
	}
	depth := ""
	if l.Depth > 0 {
		depth = strconv.Itoa(l.Depth)
	}
	return []parameter{
		{ref, l.Ref}, {"depth", depth}, {"archive", archive}, {"checksum", l.Checksum},
		{"tag", l.Tag}, {"digest", l.Digest},
	}
}

// escapeParameter escapes less than url.QueryEscape, for readability.
func escapeParameter(s string) string {
	s = url.QueryEscape(s)
	return strings.NewReplacer("%2F", "/", "%3A", ":").Replace(s)
}

// MayBePage reports whether the location may be a page that names another location: it is of
// KindHTTP, has no archive format, and is not Direct.
func (l Location) MayBePage() bool {
	return l.Kind == KindHTTP && !l.Direct && (l.Archive == FormatUnknown || l.Archive == FormatNone)
}

// WithSubdir returns a copy of l with subdir appended to Subdir. If subdir leads out of the
// package, it returns an [*addrs.ParseError].
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
	if l.Direct {
		p, err = DirectLocation(&url.URL{}, l.URL)
	} else {
		p, err = ParseLocation(l.PackageSource())
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

// parsedURL returns the URL of l.
func (l *Location) parsedURL() (*url.URL, error) {
	u, err := url.Parse(l.URL)
	if err != nil {
		return nil, refuse(l.URL, "it is not a URL")
	}
	return u, nil
}

// Kind is the method by which a package is fetched from its [Location].
type Kind string

// The kinds of locations.
const (
	// KindHTTP is an archive at a URL, or a page that names another location.
	KindHTTP Kind = "http"
	// KindGit is a commit of a git repository.
	KindGit Kind = "git"
	// KindMercurial is a revision of a Mercurial repository.
	KindMercurial Kind = "hg"
	// KindS3 is an object in Amazon S3.
	KindS3 Kind = "s3"
	// KindGCS is an object in Google Cloud Storage.
	KindGCS Kind = "gcs"
	// KindOCI is an artifact in an OCI registry.
	KindOCI Kind = "oci"
	// KindLocal is a directory or an archive on this machine.
	KindLocal Kind = "local"
	// KindOther is any other method, see [Location.Getter].
	KindOther Kind = "other"
)

// Format is the format of an archive as the location states it. The first bytes decide.
type Format string

// The formats of archives.
const (
	// FormatUnknown means that no format is stated: the location may be a page.
	FormatUnknown  Format = ""
	FormatZip      Format = "zip"
	FormatTarGzip  Format = "tar.gz"
	FormatTarXz    Format = "tar.xz"
	FormatTarBzip2 Format = "tar.bz2"
	// FormatNone means "archive=false": the location is a page.
	FormatNone Format = "none"
)
