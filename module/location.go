package module

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Kind says by which means a package is fetched from its [Location].
type Kind string

// The kinds of locations.
const (
	// KindHTTP: an archive at a URL, or a page that names another location.
	KindHTTP Kind = "http"
	// KindGit: a commit of a git repository.
	KindGit Kind = "git"
	// KindMercurial: a revision of a Mercurial repository.
	KindMercurial Kind = "hg"
	// KindS3: an object in Amazon S3, for which the user's own credentials are
	// needed.
	KindS3 Kind = "s3"
	// KindGCS: an object in Google Cloud Storage, likewise.
	KindGCS Kind = "gcs"
	// KindOCI: an artifact in an OCI registry.
	KindOCI Kind = "oci"
	// KindLocal: a directory or an archive on this machine.
	KindLocal Kind = "local"
	// KindOther: something else, see [Location.Getter].
	KindOther Kind = "other"
)

// Format is the format of an archive.
type Format string

// The formats of archives. They are what a location says; what counts in the end
// are the first bytes of the archive.
const (
	// FormatUnknown: the location does not tell, so it may also be a page.
	FormatUnknown  Format = ""
	FormatZip      Format = "zip"
	FormatTarGzip  Format = "tar.gz"
	FormatTarXz    Format = "tar.xz"
	FormatTarBzip2 Format = "tar.bz2"
	// FormatNone: the location says that it is no archive, by "archive=false".
	FormatNone Format = "none"
)

// Location says where a module package is. It is plain data; its JSON form can be
// stored and read back. [ParseLocation] makes one of the text that registries send
// and that users write.
//
// The URL may hold user information or a presigned query, which work like
// passwords. String leaves them out; Source, the field and the JSON form keep them.
type Location struct {
	// Module and Version are what the registry was asked for; zero for a
	// location from elsewhere.
	Module  addrs.Module  `json:"module,omitzero"`
	Version addrs.Version `json:"version,omitzero"`

	// Kind tells by which means to fetch the package.
	Kind Kind `json:"kind"`

	// URL is where the package is, without any parameter that another field
	// holds: https://HOST/PATH for KindHTTP, the address of a repository, object
	// or artifact for others, file:///PATH for KindLocal.
	URL string `json:"url"`

	// Subdir is the directory in the package that holds the module, with slashes
	// and without a leading one; empty: the package itself. An element with "*"
	// stands for the one directory that it matches, as in "*/modules/vpc".
	Subdir string `json:"subdir,omitempty"`

	// Archive is the format that the URL or its "archive" parameter names.
	Archive Format `json:"archive,omitempty"`

	// Checksum of the archive as ALGORITHM:HEX, where the algorithm is md5, sha1,
	// sha256 or sha512; empty: not stated. A [Fetcher] has to verify it itself.
	Checksum string `json:"checksum,omitempty"`

	// Ref is the branch, tag or commit of a repository; empty: its default
	// branch. Depth is how much history is wanted; 0: not stated. It makes no
	// difference here, since no history is kept.
	Ref   string `json:"ref,omitempty"`
	Depth int    `json:"depth,omitempty"`

	// Tag or Digest of an OCI artifact. If both are empty, the tag is "latest".
	Tag    string `json:"tag,omitempty"`
	Digest string `json:"digest,omitempty"`

	// Getter names the means of KindOther: what stood before "::" in the
	// location, or else the scheme of its URL.
	Getter string `json:"getter,omitempty"`

	// Direct tells that the registry serves the package itself, see
	// [DirectLocation]: there is an archive at the URL, and no page.
	Direct bool `json:"direct,omitempty"`

	// UseRegistryCredentials tells that the registry wants its token along with
	// the request for the package. Only a client sets it, from the property
	// use_registry_credentials of an answer; it counts only if Direct is set.
	UseRegistryCredentials bool `json:"use_registry_credentials,omitempty"`
}

// Source returns the location as text that [ParseLocation], configurations and
// go-getter read. It keeps user information and queries: do not print it.
func (l Location) Source() string { return l.text(l.URL, l.Subdir, "") }

// PackageSource returns the location of the whole package, without Subdir, for tools that
// have a getter of their own; otherwise it is like [Location.Source]. A token of the registry
// is never part of it. If Direct is set, the package is best fetched by [DownloadLocation],
// which sends the token where UseRegistryCredentials demands it.
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

// escapeParameter escapes less than url.QueryEscape, for the eyes' sake.
func escapeParameter(s string) string {
	s = url.QueryEscape(s)
	return strings.NewReplacer("%2F", "/", "%3A", ":").Replace(s)
}

// MayBePage reports whether there may be a page that names another location, instead
// of an archive: the location is of KindHTTP, does not say that it is an archive, and
// is not Direct.
func (l Location) MayBePage() bool {
	return l.Kind == KindHTTP && !l.Direct && (l.Archive == FormatUnknown || l.Archive == FormatNone)
}

// WithSubdir returns a copy of l whose Subdir is the directory subdir in that of l:
// what the registry says comes first, then what the user wrote. The error is an
// [*addrs.ParseError] if subdir leads out of it.
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
	if l.Direct {
		u, err := url.Parse(l.URL)
		if err != nil || l.Kind != KindHTTP {
			return nil, refuse(l.URL, "a direct location must be an http URL")
		}
		p, err := DirectLocation(u, l.URL)
		if err != nil {
			return nil, err
		}
		p.UseRegistryCredentials = l.UseRegistryCredentials
		p.Module, p.Version = l.Module, l.Version
		return p.WithSubdir(l.Subdir)
	}
	p, err := ParseLocation(l.text(l.URL, "", ""))
	if err != nil {
		return nil, err
	}
	if p.Kind != l.Kind {
		return nil, refuse(l.URL, "the URL is not of kind "+string(l.Kind))
	}
	p.Module, p.Version = l.Module, l.Version
	return p.WithSubdir(l.Subdir)
}
