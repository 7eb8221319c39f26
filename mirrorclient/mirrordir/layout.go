package mirrordir

import (
	"net/url"
	"path"
	"strings"

	"github.com/tofureg/tofureg/addrs"
)

// packageKey is one package of a provider.
type packageKey struct {
	version  addrs.Version
	platform addrs.Platform
}

// What the files of a provider are called.
const (
	archivePrefix = "terraform-provider-"
	archiveSuffix = ".zip"
	recordSuffix  = ".record.json"
	indexName     = "index.json"
)

// homeOf returns the directory of a provider, as the CLI names it: with the host in
// Unicode.
func homeOf(p addrs.Provider) string {
	return path.Join(p.Host().Display(), p.Namespace(), p.Type())
}

// wireHomeOf returns the directory in which network clients look for the documents of a
// provider. It is another one if the host is internationalised, since URLs have the
// ASCII form of the host.
func wireHomeOf(p addrs.Provider) string {
	return path.Join(p.Host().String(), p.Namespace(), p.Type())
}

// archiveName returns the name of the archive within the directory of its provider.
func archiveName(p addrs.Provider, k packageKey) string {
	return archivePrefix + p.Type() + "_" + k.version.String() + "_" + k.platform.String() + archiveSuffix
}

// archivePath returns the name in the storage under which an archive is added.
func archivePath(p addrs.Provider, k packageKey) string { return homeOf(p) + "/" + archiveName(p, k) }

// recordName returns the name of what is on record about an archive.
func recordName(archive string) string {
	return strings.TrimSuffix(archive, archiveSuffix) + recordSuffix
}

// documentName returns the name of the document about a version.
func documentName(v addrs.Version) string { return v.String() + ".json" }

// parseArchive reads the name of an archive as the CLI does: parts after the fourth do
// not count, nor does case in the prefix, the type and the platform. The version keeps
// its case, unlike in the CLI: 1.0.0-RC1 is not 1.0.0-rc1. It returns what is wrong with
// a name that looks like that of an archive; a name that does not gives zero values.
func parseArchive(p addrs.Provider, name string) (k packageKey, problem string) {
	if len(name) < len(archivePrefix)+len(archiveSuffix) ||
		!strings.EqualFold(name[:len(archivePrefix)], archivePrefix) ||
		!strings.EqualFold(name[len(name)-len(archiveSuffix):], archiveSuffix) {
		return packageKey{}, ""
	}
	parts := strings.Split(name[len(archivePrefix):len(name)-len(archiveSuffix)], "_")
	if len(parts) < 4 {
		return packageKey{}, "is not of the form terraform-provider-TYPE_VERSION_OS_ARCH.zip"
	}
	if !strings.EqualFold(parts[0], p.Type()) {
		return packageKey{}, "is of another provider"
	}
	version, err := addrs.ParseVersion(parts[1])
	if err != nil {
		return packageKey{}, "has no version in its name"
	}
	platform, err := addrs.NewPlatform(strings.ToLower(parts[2]), strings.ToLower(parts[3]))
	if err != nil {
		return packageKey{}, "has no platform in its name"
	}
	return packageKey{version, platform}, ""
}

// urlOf returns the URL of a file, relative to a document in the directory from.
func urlOf(from, name string) string {
	dir, file := path.Split(name)
	dir = path.Clean(dir)
	var b strings.Builder
	if dir != from {
		b.WriteString(strings.Repeat("../", strings.Count(from, "/")+1))
		for elem := range strings.SplitSeq(dir, "/") {
			b.WriteString(url.PathEscape(elem) + "/")
		}
	}
	b.WriteString(url.PathEscape(file))
	return b.String()
}

// resolve returns the name of the file that a document in the directory from refers to,
// or "" if it is not a file of the mirror.
func resolve(from, ref string) string {
	u, err := url.Parse(ref)
	if err != nil || u.Scheme != "" || u.Opaque != "" || u.Host != "" || u.RawQuery != "" || u.Path == "" || u.Path[0] == '/' {
		return ""
	}
	name := path.Join(from, u.Path)
	if checkName(name) != nil || strings.HasPrefix(name, "../") || strings.HasSuffix(u.Path, "/") {
		return ""
	}
	return name
}
