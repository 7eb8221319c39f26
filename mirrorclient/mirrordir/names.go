package mirrordir

import (
	"net/url"
	"path"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

// packageKey is one package of a provider.
type packageKey struct {
	version  addrs.Version
	platform addrs.Platform
}

const (
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

// documentHomes returns the directories that have the documents of p: the one with the
// archives first.
func documentHomes(p addrs.Provider) []string {
	home, wire := homeOf(p), wireHomeOf(p)
	if home == wire {
		return []string{home}
	}
	return []string{home, wire}
}

// archivePath returns the name in the storage under which an archive is added.
func archivePath(p addrs.Provider, k packageKey) string {
	return homeOf(p) + "/" + provider.ArchiveName(p, k.version, k.platform)
}

// parseArchive reads the name of an archive. It returns what is wrong with a name that only
// looks like one.
func parseArchive(p addrs.Provider, name string) (k packageKey, problem string) {
	k.version, k.platform, problem = provider.ParseArchiveName(p, name)
	return k, problem
}

// recordName returns the name of what is on record about an archive.
func recordName(archive string) string {
	return strings.TrimSuffix(archive, archiveSuffix) + recordSuffix
}

// archivesOf returns the names that the archive of a record can have.
func archivesOf(record string) []string {
	stem := strings.TrimSuffix(record, recordSuffix)
	names := []string{stem + archiveSuffix}
	if strings.EqualFold(path.Ext(stem), archiveSuffix) {
		names = append(names, stem) // is .ZIP, say
	}
	return names
}

// documentName returns the name of the document about a version.
func documentName(v addrs.Version) string { return v.String() + ".json" }

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

// isArchiveOf reports whether a name in the storage is that of an archive of a version.
func isArchiveOf(p addrs.Provider, v addrs.Version, name string) bool {
	dir, file := path.Split(name)
	k, _ := parseArchive(p, file)
	return k.version == v && k != packageKey{} && dir == homeOf(p)+"/"
}

// hasPort reports whether the host of a provider has a port. Both CLIs fail for such a provider
// with "unsupported protocol scheme", since they take the relative address of its documents for
// an absolute URL.
func hasPort(p addrs.Provider) bool { return strings.Contains(p.Host().String(), ":") }
