package mirrordir

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

// address identifies a package. In a finding the version and the platform may be zero.
type address struct {
	provider addrs.Provider
	version  addrs.Version
	platform addrs.Platform
}

func addressOf(pkg *provider.Package) address {
	return address{pkg.Provider, pkg.Version, pkg.Platform}
}

// pkg returns a package with only the address.
func (a address) pkg() *provider.Package {
	return &provider.Package{Provider: a.provider, Version: a.version, Platform: a.platform}
}

// archive returns the canonical name of the archive.
func (a address) archive() string {
	return providerDir(a.provider) + "/" + provider.ArchiveName(a.provider, a.version, a.platform)
}

// event returns an event about an archive of this size.
func (a address) event(kind provider.EventKind, size int64) provider.Event {
	return provider.Event{Kind: kind, Provider: a.provider, Version: a.version, Platform: a.platform, Bytes: size, Total: size}
}

// finding returns a finding about the file of this name.
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

// providerDir returns the canonical directory of a provider, with the host in Unicode like the CLI.
func providerDir(p addrs.Provider) string {
	return path.Join(p.Host().Display(), p.Namespace(), p.Type())
}

// asciiProviderDir returns the directory that network clients request, with the host in ASCII.
func asciiProviderDir(p addrs.Provider) string {
	return path.Join(p.Host().String(), p.Namespace(), p.Type())
}

// documentDirs returns the directories with documents of p, first the one with the archives.
func documentDirs(p addrs.Provider) []string {
	home, wire := providerDir(p), asciiProviderDir(p)
	if home == wire {
		return []string{home}
	}
	return []string{home, wire}
}

// recordName returns the name of the record of an archive.
func recordName(archive string) string {
	return strings.TrimSuffix(archive, archiveSuffix) + recordSuffix
}

// possibleArchives returns the names that the archive of a record can have.
func possibleArchives(record string) []string {
	stem := strings.TrimSuffix(record, recordSuffix)
	names := []string{stem + archiveSuffix}
	if strings.EqualFold(path.Ext(stem), archiveSuffix) {
		names = append(names, stem) // such as .ZIP
	}
	return names
}

// documentName returns the file name of the document of a version.
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

// resolve returns the name of the file for a URL in a document in the directory from, or "" if the URL
// leads out of the mirror.
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

// isArchiveOf reports whether name is a name of an archive of a version.
func isArchiveOf(p addrs.Provider, v addrs.Version, name string) bool {
	dir, file := path.Split(name)
	version, _, _ := provider.ParseArchiveName(p, file)
	return !version.IsZero() && version == v && dir == providerDir(p)+"/"
}
