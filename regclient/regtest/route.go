package regtest

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

// A call is a request from any transport.
type call struct {
	ctx          context.Context
	method       string
	scheme, host string
	path, query  string // as they were sent
	header       http.Header
	server       *Server // nil without a listener
	anyHost      bool    // the host is an address, not the name of a registry

	form   url.Values // the posted form, or nil
	gunzip bool       // the client decompresses transparently

	plain  string // the path without redirects
	hop    hop
	target target
}

// A target is what a call requests.
type target struct {
	kind     Kind
	provider addrs.Provider
	version  string // of a package, as listed
	platform string // of a package
	module   addrs.Module
	mirror   bool   // the file is below the path of the mirror
	dir      string // of a file: the directory of its release
	file     string // of a file
	page     int    // number of a page before a package
}

// locate sets the target of the call.
func (r *Registry) locate(c *call) {
	c.plain, c.hop = cutHop(c.path)
	if c.plain == opaquePath {
		if q, err := url.ParseQuery(c.query); err == nil {
			if p, err := hex.DecodeString(q.Get("id")); err == nil {
				c.plain = string(p)
			}
		}
	}
	c.target = r.route(c, c.plain)
}

// route returns the target of a path.
func (r *Registry) route(c *call, path string) target {
	if path == discoveryPath {
		return target{kind: Discovery}
	}
	if kind := r.loginKind(path); kind != Other {
		return target{kind: kind}
	}
	if rest, ok := strings.CutPrefix(path, filesPath); ok {
		return fileTarget(unescape(rest))
	}
	if rest, ok := strings.CutPrefix(path, packagesPath); ok {
		return packageTarget(unescape(rest))
	}
	if rest, ok := strings.CutPrefix(path, r.Mirror.path()); ok {
		if t := r.mirrorTarget(unescape(rest)); t.kind != Other {
			return t
		}
	}
	name, _ := r.registryAt(c.host)
	if rest, ok := strings.CutPrefix(path, r.base(providerService)); ok {
		if t := providerTarget(name, unescape(rest)); t.kind != Other {
			return t
		}
	}
	if rest, ok := strings.CutPrefix(path, r.base(moduleService)); ok {
		return moduleTarget(name, unescape(rest))
	}
	return target{kind: Other}
}

// providerTarget returns the target of a path below the provider API.
func providerTarget(host svchost.Hostname, s []string) target {
	switch {
	case len(s) == 3 && s[2] == "versions":
		return target{kind: Versions, provider: provider(host, s[0], s[1])}
	case len(s) == 6 && s[3] == "download":
		return target{
			kind: Package, provider: provider(host, s[0], s[1]),
			version: s[2], platform: s[4] + "_" + s[5],
		}
	}
	return target{kind: Other}
}

// moduleTarget returns the target of a path below the module API.
func moduleTarget(host svchost.Hostname, s []string) target {
	switch {
	case len(s) == 4 && s[3] == "versions":
		return target{kind: ModuleVersions, module: module(host, s[0], s[1], s[2])}
	case len(s) == 5 && s[4] == "download":
		return target{kind: ModuleLocation, module: module(host, s[0], s[1], s[2]), version: s[3]}
	}
	return target{kind: Other}
}

// packageTarget returns the target of a path HOST, NAMESPACE, NAME, SYSTEM, DIR, FILE. The
// file of a page is "page-" and its number.
func packageTarget(s []string) target {
	if len(s) != 6 {
		return target{kind: Other}
	}
	host, err := svchost.FromWire(s[0])
	if err != nil {
		return target{kind: Other}
	}
	t := target{kind: ModulePackage, module: module(host, s[1], s[2], s[3]), dir: s[4], file: s[5]}
	if number, ok := strings.CutPrefix(t.file, pagePrefix); ok {
		if n, err := strconv.Atoi(number); err == nil {
			t.kind, t.page = ModulePage, n
		}
	}
	return t
}

// fileTarget returns the target of a path HOST, NAMESPACE, TYPE, DIR, FILE.
func fileTarget(s []string) target {
	if len(s) != 5 {
		return target{kind: Other}
	}
	host, err := svchost.FromWire(s[0])
	if err != nil {
		return target{kind: Other}
	}
	t := target{kind: Other, provider: provider(host, s[1], s[2]), dir: s[3], file: s[4]}
	switch {
	case strings.HasSuffix(t.file, ".zip"):
		t.kind = Archive
	case strings.HasSuffix(t.file, sumsSuffix):
		t.kind = Sums
	case strings.HasSuffix(t.file, sumsSuffix+".sig"):
		t.kind = Signature
	}
	return t
}

// provider returns the provider with exactly this name, or zero if the name is invalid.
func provider(host svchost.Hostname, namespace, typ string) addrs.Provider {
	p, err := addrs.NewProvider(host, namespace, typ)
	if err != nil || p.Namespace() != namespace || p.Type() != typ {
		return addrs.Provider{}
	}
	return p
}

// module returns the module with exactly this name, or zero if the name is invalid.
func module(host svchost.Hostname, namespace, name, system string) addrs.Module {
	m, err := addrs.ParseModuleIn(host, namespace+"/"+name+"/"+system)
	if err != nil || m.Namespace() != namespace || m.Name() != name || m.System() != system {
		return addrs.Module{}
	}
	return m
}

// unescape returns the unescaped segments of a path.
func unescape(path string) []string {
	list := strings.Split(path, "/")
	for i, s := range list {
		if u, err := url.PathUnescape(s); err == nil {
			list[i] = u
		}
	}
	return list
}

// normalHost returns the host in lower case, without the default port.
func normalHost(scheme, host string) string {
	host = strings.ToLower(host)
	switch scheme {
	case "https":
		return strings.TrimSuffix(host, ":443")
	case "http":
		return strings.TrimSuffix(host, ":80")
	}
	return host
}

// A hop is a position in a chain of redirects. It precedes the path, as /redirect-1-of-3, so
// that relative references keep it.
type hop struct {
	at, of int
	loop   bool
}

const loopPrefix = "/redirect-loop"

func (h hop) prefix() string {
	if h.loop {
		return loopPrefix
	}
	return fmt.Sprintf("/redirect-%d-of-%d", h.at, h.of)
}

// first reports whether no redirect led to the request.
func (h hop) first() bool { return h == hop{} }

// last reports whether the answer is not another redirect.
func (h hop) last() bool { return h.at == h.of && !h.loop }

// cutHop splits a path into the requested path and the hop.
func cutHop(path string) (string, hop) {
	if rest, ok := strings.CutPrefix(path, loopPrefix+"/"); ok {
		return "/" + rest, hop{loop: true}
	}
	rest, ok := strings.CutPrefix(path, "/redirect-")
	if !ok {
		return path, hop{}
	}
	count, rest, _ := strings.Cut(rest, "/")
	at, of, _ := strings.Cut(count, "-of-")
	i, err1 := strconv.Atoi(at)
	n, err2 := strconv.Atoi(of)
	if err1 != nil || err2 != nil || i < 1 || i > n {
		return path, hop{}
	}
	return "/" + rest, hop{at: i, of: n}
}
