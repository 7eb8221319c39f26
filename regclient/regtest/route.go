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

// A call is one request, whichever way it came in.
type call struct {
	ctx          context.Context
	method       string
	scheme, host string
	path, query  string // as they were sent
	header       http.Header
	server       *Server // nil for a request that came by no listener of ours
	anyHost      bool    // the host is an address, not a name to go by

	plain  string // the path that is asked for in the end
	hop    hop
	target target
}

// A target is what a call asks for.
type target struct {
	kind     Kind
	provider addrs.Provider
	version  string // of a package, as listed
	platform string // of a package
	dir      string // of a file: that of its release
	file     string // of a file
}

// locate finds out what the call asks for.
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

// route returns what a path stands for.
func (r *Registry) route(c *call, path string) target {
	if path == discoveryPath {
		return target{kind: Discovery}
	}
	if rest, ok := strings.CutPrefix(path, filesPath); ok {
		return fileTarget(unescape(rest))
	}
	rest, ok := strings.CutPrefix(path, r.base())
	if !ok {
		return target{kind: Other}
	}
	name, _ := r.registryAt(c.host)
	t := target{kind: Other}
	switch s := unescape(rest); {
	case len(s) == 3 && s[2] == "versions":
		t.kind = Versions
		t.provider = provider(name, s[0], s[1])
	case len(s) == 6 && s[3] == "download":
		t.kind, t.version, t.platform = Package, s[2], s[4]+"_"+s[5]
		t.provider = provider(name, s[0], s[1])
	}
	return t
}

// fileTarget returns what the path of a file stands for, in its segments
// HOST, NAMESPACE, TYPE, DIR, FILE.
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

// provider returns the provider of exactly this name, or the zero Provider if
// there can be none.
func provider(host svchost.Hostname, namespace, typ string) addrs.Provider {
	p, err := addrs.NewProvider(host, namespace, typ)
	if err != nil || p.Namespace() != namespace || p.Type() != typ {
		return addrs.Provider{}
	}
	return p
}

// unescape returns the segments of an escaped path.
func unescape(path string) []string {
	list := strings.Split(path, "/")
	for i, s := range list {
		if u, err := url.PathUnescape(s); err == nil {
			list[i] = u
		}
	}
	return list
}

// normalHost returns the host of a URL in the form in which hosts are compared:
// in lower case, without the port of the scheme.
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

// A hop is a place in a chain of redirects. It stands in front of the path, as
// /redirect-1-of-3, so that relative references keep what leads to them.
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

// first reports whether the request is one that no redirect has led to.
func (h hop) first() bool { return h == hop{} }

// last reports whether the answer is not a further redirect.
func (h hop) last() bool { return h.at == h.of && !h.loop }

// cutHop splits a path into the place in a chain of redirects and the path that
// is asked for.
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
