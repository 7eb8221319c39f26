package module

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Location is the place of a module package. It is plain data; its JSON form can be stored
// and read back. [ParseLocation] parses the text that registries send and users write.
//
// The URL may contain user information or a presigned query, which work like passwords.
// String leaves them out; Source, the field and the JSON form keep them.
type Location struct {
	// Module and Version are what the registry was asked for; zero if the location did
	// not come from a registry.
	Module  addrs.Module  `json:"module,omitzero"`
	Version addrs.Version `json:"version,omitzero"`

	// Kind is the means by which to fetch the package.
	Kind Kind `json:"kind"`

	// URL is the URL without the parameters that other fields hold: https://HOST/PATH
	// for KindHTTP, file:///PATH for KindLocal, and the URL of the repository, object
	// or artifact for the other kinds.
	URL string `json:"url"`

	// Subdir is the directory of the module in the package, with slashes; empty for the
	// package itself. An element with "*" stands for the one directory that it matches,
	// as in "*/modules/vpc".
	Subdir string `json:"subdir,omitempty"`

	// Archive is the format that the path or the parameter "archive" states.
	Archive Format `json:"archive,omitempty"`

	// Checksum is the checksum of the archive as ALGORITHM:HEX, with the algorithm md5,
	// sha1, sha256 or sha512; empty if none is stated. A [Fetcher] must verify it.
	Checksum string `json:"checksum,omitempty"`

	// Ref is the branch, tag or commit of a repository; empty for its default branch.
	Ref string `json:"ref,omitempty"`

	// Depth is the number of commits of history to fetch; 0 if none is stated. This
	// package fetches no history and keeps Depth for getters that do.
	Depth int `json:"depth,omitempty"`

	// Tag or Digest names an OCI artifact. If both are empty, the tag is "latest".
	Tag    string `json:"tag,omitempty"`
	Digest string `json:"digest,omitempty"`

	// Getter is the means of KindOther: the word before "::", or else the scheme of the
	// URL.
	Getter string `json:"getter,omitempty"`

	// Direct means that the registry serves the package itself: the URL is an archive
	// and never a page, see [DirectLocation].
	Direct bool `json:"direct,omitempty"`

	// UseRegistryCredentials means that the registry wants its token with the request
	// for the package. Only a client sets it, from the property
	// use_registry_credentials of an answer. It is ignored unless Direct is set.
	UseRegistryCredentials bool `json:"use_registry_credentials,omitempty"`
}

// Source returns the location in the form that [ParseLocation], configurations and
// go-getter read. It keeps user information and queries: do not print it.
func (l Location) Source() string { return l.text(l.URL, l.Subdir, "") }

// PackageSource is like [Location.Source] without Subdir: the whole package, for tools that
// have a getter of their own. It never contains a token of the registry. If Direct is set,
// fetch the package with [DownloadLocation], which sends the token if
// UseRegistryCredentials is set.
func (l Location) PackageSource() string { return l.text(l.URL, "", "") }

// String returns the location for people: without user information, with "..." in place
// of the parameters that no field holds and of path segments that look like tokens,
// without control characters, and in at most 1,000 bytes.
func (l Location) String() string {
	hidden := ""
	if _, query, _ := strings.Cut(l.URL, "?"); query != "" {
		hidden = weburl.Ellipsis
	}
	return weburl.Clean(l.text(showAddress(l.URL), l.Subdir, hidden), maxShown)
}

// text puts the location together; hidden is one more parameter.
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

// getter returns what must stand before "::".
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

// parameters returns those that have fields of their own.
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
// KindHTTP, states no format of an archive, and is not Direct.
func (l Location) MayBePage() bool {
	return l.Kind == KindHTTP && !l.Direct && (l.Archive == FormatUnknown || l.Archive == FormatNone)
}

// WithSubdir returns a copy of l with the directory subdir, as the user wrote it, appended to
// Subdir. It returns an [*addrs.ParseError] if subdir leads out of the package.
func (l Location) WithSubdir(subdir string) (*Location, error) {
	joined, err := joinSubdir(l.Subdir, subdir)
	if err != nil {
		return nil, err
	}
	l.Subdir = joined
	return &l, nil
}

// checked returns a copy of l as ParseLocation would have made it: a location may
// come from a file, and its fields may contradict each other.
func (l *Location) checked() (*Location, error) {
	if l == nil {
		return nil, refuse("", "there is no location")
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

// parsed returns the URL of l.
func (l *Location) parsed() (*url.URL, error) {
	u, err := url.Parse(l.URL)
	if err != nil {
		return nil, refuse(l.URL, "this is no URL")
	}
	return u, nil
}

// Kind is the means by which a package is fetched from its [Location].
type Kind string

// The kinds of locations.
const (
	// KindHTTP is an archive at a URL, or a page that names another location.
	KindHTTP Kind = "http"
	// KindGit is a commit of a git repository.
	KindGit Kind = "git"
	// KindMercurial is a revision of a Mercurial repository.
	KindMercurial Kind = "hg"
	// KindS3 is an object in Amazon S3, which needs the user's own credentials.
	KindS3 Kind = "s3"
	// KindGCS is an object in Google Cloud Storage, which needs the user's own
	// credentials.
	KindGCS Kind = "gcs"
	// KindOCI is an artifact in an OCI registry.
	KindOCI Kind = "oci"
	// KindLocal is a directory or an archive on this machine.
	KindLocal Kind = "local"
	// KindOther is anything else, see [Location.Getter].
	KindOther Kind = "other"
)

// Format is the format of an archive, as a location states it. The first bytes of the
// archive decide which format it really has.
type Format string

// The formats of archives.
const (
	// FormatUnknown means that the location states no format: it may be a page.
	FormatUnknown  Format = ""
	FormatZip      Format = "zip"
	FormatTarGzip  Format = "tar.gz"
	FormatTarXz    Format = "tar.xz"
	FormatTarBzip2 Format = "tar.bz2"
	// FormatNone means that the location states "archive=false": it is a page.
	FormatNone Format = "none"
)
