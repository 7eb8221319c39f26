package mirrordir

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

// address says which package is meant. In a finding the version or the platform may be zero.
type address struct {
	provider addrs.Provider
	version  addrs.Version
	platform addrs.Platform
}

func addressOf(pkg *provider.Package) address {
	return address{pkg.Provider, pkg.Version, pkg.Platform}
}

// pkg returns a package of which only the address is known.
func (a address) pkg() *provider.Package {
	return &provider.Package{Provider: a.provider, Version: a.version, Platform: a.platform}
}

// archive returns the name in the storage under which the archive is added.
func (a address) archive() string {
	return homeOf(a.provider) + "/" + provider.ArchiveName(a.provider, a.version, a.platform)
}

// event reports a step that ended with an archive of this size.
func (a address) event(kind provider.EventKind, size int64) provider.Event {
	return provider.Event{Kind: kind, Provider: a.provider, Version: a.version, Platform: a.platform, Bytes: size, Total: size}
}

// finding says something about the file of this name.
func (a address) finding(kind FindingKind, name, format string, args ...any) Finding {
	return Finding{
		Kind: kind, Name: name, Provider: a.provider, Version: a.version, Platform: a.platform,
		Detail: fmt.Sprintf(format, args...),
	}
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
	version, _, _ := provider.ParseArchiveName(p, file)
	return !version.IsZero() && version == v && dir == homeOf(p)+"/"
}

// hasPort reports whether the host of a provider has a port. Both CLIs fail for such a provider
// with "unsupported protocol scheme", since they take the relative address of its documents for
// an absolute URL.
func hasPort(p addrs.Provider) bool { return strings.Contains(p.Host().String(), ":") }
