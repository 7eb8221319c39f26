package regtest

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

// A Mirror configures the network mirror. The zero value is like a mirror of the CLI.
type Mirror struct {
	Path       string   // of the base URL; if empty, "/mirror/"
	URLs       string   // of archives: as in [Provider], "name" (….zip, the default), or "download" (download/….zip)
	Origin     string   // of archives; if empty, the mirror
	Query      string   // of archives
	Hashes     []string // schemes; if nil, h1 and zh; others get a dummy value
	NoHashes   bool     // omit them
	IgnoreHost bool     // ignore the requested host

	UnknownStatus int // for unknown providers, 200 to 999; if zero, 404
}

// The documents of the network mirror protocol.
type (
	mirrorIndex struct {
		Versions map[string]struct{} `json:"versions"`
	}
	mirrorVersion struct {
		Archives map[string]mirrorArchive `json:"archives"`
	}
	mirrorArchive struct {
		URL    string    `json:"url"`
		Hashes *[]string `json:"hashes,omitempty"`
	}
)

// MirrorURL returns the base URL of the mirror.
func (r *Registry) MirrorURL() string { return "https://" + r.host.String() + r.Mirror.path() }

// MirrorURL is like [Registry.MirrorURL]. Its providers have the host of New or of their Address.
func (s *Server) MirrorURL() string { return s.URL + s.registry.Mirror.path() }

// path returns the path of the mirror, with a slash at both ends.
func (m *Mirror) path() string {
	if m.Path == "" {
		return "/mirror/"
	}
	if path := strings.Trim(m.Path, "/"); path != "" {
		return "/" + path + "/"
	}
	return "/"
}

const downloadDir = "download"

// mirrorTarget returns the target of a path HOST, NAMESPACE, TYPE, FILE below the mirror.
func (r *Registry) mirrorTarget(s []string) target {
	if len(s) == 5 && s[3] == downloadDir && strings.HasSuffix(s[4], ".zip") {
		s = append(s[:3:3], s[4])
	}
	if len(s) != 4 {
		return target{kind: Other}
	}
	t := target{kind: Other, provider: r.mirrored(s[0], s[1], s[2]), mirror: true}
	version, isDocument := strings.CutSuffix(s[3], ".json")
	switch {
	case s[3] == "index.json":
		t.kind = MirrorIndex
	case isDocument:
		t.kind, t.version = MirrorVersion, version
	case strings.HasSuffix(s[3], ".zip"):
		t.kind, t.file = Archive, s[3]
	}
	return t
}

// mirrored returns the provider of a path, whose host is in ASCII, lower case and without the
// default port.
func (r *Registry) mirrored(host, namespace, typ string) addrs.Provider {
	if r.Mirror.IgnoreHost {
		return r.anyProvider(namespace, typ)
	}
	name, err := svchost.FromWire(host)
	if err != nil || name.String() != host {
		return addrs.Provider{}
	}
	return provider(name, namespace, typ)
}

// anyProvider returns the first provider with this name at any host, in the order of
// addresses.
func (r *Registry) anyProvider(namespace, typ string) (found addrs.Provider) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.providers {
		if p.Namespace() == namespace && p.Type() == typ && (found.IsZero() || p.Compare(found) < 0) {
			found = p
		}
	}
	return found
}

// mirrorIndex returns the versions of a provider.
func (r *Registry) mirrorIndex(t target) *answer {
	list := r.releases(t.provider)
	if len(list) == 0 {
		return r.Mirror.unknown()
	}
	doc := mirrorIndex{Versions: map[string]struct{}{}}
	for _, rel := range list {
		doc.Versions[rel.p.Version] = struct{}{}
	}
	return document(doc)
}

// unknown returns the answer for an unknown provider.
func (m *Mirror) unknown() *answer {
	return failure(finalStatus(m.UnknownStatus, http.StatusNotFound))
}

// mirrorVersion returns the archives of a version.
func (r *Registry) mirrorVersion(c *call, t target) *answer {
	list := r.releases(t.provider)
	if len(list) == 0 {
		return r.Mirror.unknown()
	}
	doc := mirrorVersion{Archives: map[string]mirrorArchive{}}
	listed := false
	for _, rel := range slices.Backward(list) { // the first has precedence
		if rel.p.Version != t.version {
			continue
		}
		listed = true
		for platform := range rel.archives {
			doc.Archives[platform] = mirrorArchive{
				URL:    r.Mirror.link(c, rel, platform),
				Hashes: r.Mirror.hashes(rel, platform),
			}
		}
	}
	if !listed {
		return failure(http.StatusNotFound)
	}
	return document(doc)
}

// link returns the URL of an archive.
func (m *Mirror) link(c *call, rel *Release, platform string) string {
	return link{
		path: rel.path(rel.Filename(platform)), name: rel.mirrorName(platform),
		form: cmp.Or(m.URLs, "name"), origin: m.Origin, query: m.Query,
	}.from(c)
}

// mirrorName returns the name of an archive in the directory with the archives of all
// versions.
func (rel *Release) mirrorName(platform string) string {
	return "terraform-provider-" + rel.provider.Type() + "_" + rel.dir + "_" + platform + ".zip"
}

// hashes returns the stated hashes of an archive.
func (m *Mirror) hashes(rel *Release, platform string) *[]string {
	if m.NoHashes {
		return nil
	}
	schemes := m.Hashes
	if schemes == nil {
		schemes = []string{"h1", "zh"}
	}
	list := []string{}
	for _, scheme := range schemes {
		hash := scheme + ":unknown"
		switch scheme {
		case "zh":
			hash = rel.ZH(platform).String()
		case "h1":
			if hash = rel.H1(platform).String(); hash == "" {
				continue // the archive is invalid
			}
		}
		list = append(list, hash)
	}
	return &list
}
