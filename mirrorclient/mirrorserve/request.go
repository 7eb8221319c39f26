package mirrorserve

import (
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/provider"
)

// request is a request for a document or an archive.
type request struct {
	documentKey
	platform addrs.Platform
	archive  bool
}

// documentKey identifies a document: of a version, or the index if the version is zero.
type documentKey struct {
	provider addrs.Provider
	version  addrs.Version
}

// name returns what identifies the archive in a signature.
func (q request) name() string {
	return q.provider.String() + "/" + provider.ArchiveName(q.provider, q.version, q.platform)
}

// parseRequest parses the path of a request. It accepts only canonical spellings, so that each document
// and archive has one path.
func parseRequest(path string) (q request, ok bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) != 4 {
		return q, false
	}
	host, err := svchost.FromWire(parts[0])
	if err != nil || parts[0] != host.String() && parts[0] != host.Display() {
		return q, false
	}
	q.provider, err = addrs.NewProvider(host, parts[1], parts[2])
	if err != nil || q.provider.Namespace() != parts[1] || q.provider.Type() != parts[2] {
		return q, false
	}
	return q, q.parseFile(parts[3])
}

func (q *request) parseFile(name string) bool {
	if name == "index.json" {
		return true
	}
	if text, ok := strings.CutSuffix(name, ".json"); ok {
		v, err := addrs.ParseVersion(text)
		q.version = v
		return err == nil && v.String() == text
	}
	q.version, q.platform, _ = provider.ParseArchiveName(q.provider, name)
	q.archive = true
	return !q.version.IsZero() && name == provider.ArchiveName(q.provider, q.version, q.platform)
}
