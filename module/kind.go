package module

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
