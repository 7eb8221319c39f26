package regtest

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/bits"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

// A Kind is a kind of request, or a set, such as Sums|Signature.
type Kind uint

// The kinds of requests, by path. Only GET is answered, at LoginToken POST. HEAD is 404.
const (
	Discovery Kind = 1 << iota // /.well-known/terraform.json
	Versions                   // /v1/providers/NAMESPACE/TYPE/versions
	Package                    // /v1/providers/NAMESPACE/TYPE/VERSION/download/OS/ARCH
	Sums                       // …_SHA256SUMS
	Signature                  // …_SHA256SUMS.sig
	Archive                    // ….zip of a provider or mirror

	ModuleVersions // /v1/modules/NAMESPACE/NAME/SYSTEM/versions
	ModuleLocation // /v1/modules/NAMESPACE/NAME/SYSTEM/VERSION/download
	ModulePage     // …/page-1?terraform-get=1
	ModulePackage  // such as ….tar.gz

	MirrorIndex   // /mirror/HOST/NAMESPACE/TYPE/index.json
	MirrorVersion // /mirror/HOST/NAMESPACE/TYPE/VERSION.json

	LoginAuthz // /oauth/authorization, by a browser
	LoginToken // /oauth/token

	Other // any other path
)

// Metadata selects JSON documents of providers.
const Metadata = Versions | Package

// String returns, for example, "sums|signature", or "any" for zero.
func (k Kind) String() string {
	names := [...]string{
		"discovery", "versions", "package", "sums", "signature", "archive",
		"module versions", "module location", "module page", "module package",
		"mirror index", "mirror version", "login authz", "login token", "other",
	}
	var list []string
	for rest := k; rest != 0; rest &= rest - 1 {
		if i := bits.TrailingZeros(uint(rest)); i < len(names) {
			list = append(list, names[i])
		}
	}
	if len(list) == 0 {
		return "any"
	}
	return strings.Join(list, "|")
}

// has reports whether k contains kind. Zero contains all kinds.
func (k Kind) has(kind Kind) bool { return k == 0 || k&kind != 0 }

// A Request is a recorded request. It contains tokens.
type Request struct {
	Time   time.Time // of arrival
	Kind   Kind      // by Path
	Method string    // such as "GET"
	Scheme string    // "https" or "http"
	Host   string    // with any port but the default
	Path   string    // as sent, with escapes
	Query  string    // as sent, without "?"

	Authorization, Range, Referer, UserAgent string // these headers

	Header http.Header // all
	Form   url.Values  // posted, or nil

	Status int   // of the answer, or 0
	Sent   int64 // bytes of the body; in this process, as read
}

// URL returns the URL without user and default port. Its query can have secrets.
func (q Request) URL() string {
	u := q.Scheme + "://" + q.Host + q.Path
	if q.Query != "" {
		u += "?" + q.Query
	}
	return u
}

// String describes the request in one line, without the token in Authorization.
func (q Request) String() string {
	notes := []string{q.Kind.String()}
	if q.Authorization != "" {
		notes = append(notes, "with Authorization")
	}
	if q.Range != "" {
		notes = append(notes, q.Range)
	}
	return fmt.Sprintf("%s %s: %d (%s)", q.Method, q.URL(), q.Status, strings.Join(notes, ", "))
}

// Requests returns all requests since the last Reset, in order.
func (r *Registry) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Request, len(r.requests))
	for i, q := range r.requests {
		list[i] = *q
		list[i].Header = q.Header.Clone()
		list[i].Form = url.Values(http.Header(q.Form).Clone())
	}
	return list
}

// Count returns the number of recorded requests of the kinds, for zero of all.
func (r *Registry) Count(kind Kind) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, q := range r.requests {
		if kind.has(q.Kind) {
			n++
		}
	}
	return n
}

// Reset deletes the recorded requests, but no faults or their counters.
func (r *Registry) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = nil
}

// record adds a request.
func (r *Registry) record(c *call) *Request {
	q := &Request{
		Time: time.Now(), Kind: c.target.kind, Method: c.method,
		Scheme: c.scheme, Host: c.host, Path: c.path, Query: c.query,
		Authorization: c.header.Get("Authorization"),
		Range:         c.header.Get("Range"),
		Referer:       c.header.Get("Referer"),
		UserAgent:     c.header.Get("User-Agent"),
		Header:        c.header.Clone(),
		Form:          c.form,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, q)
	return q
}

// note changes a recorded request.
func (r *Registry) updateRecord(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

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
	m, _ := addrs.NewModule(host, namespace, name, system)
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

// The paths of files.
const (
	filesPath    = "/releases/"
	packagesPath = "/packages/"
	opaquePath   = "/get"
)

// A link is a reference to a file.
type link struct {
	path   string // in the form "absolute", with escapes
	name   string // for the forms "name" and "download"
	form   string // as in Provider.URLs or Mirror.URLs; empty means "absolute"
	origin string // empty for the origin of the document
	subdir string // after two slashes; may be empty
	query  string
}

// from returns the text of the reference in the answer to a call.
func (l link) from(c *call) string {
	path, query := l.path, l.query
	if l.form == "opaque" {
		path = opaquePath
		query = strings.TrimSuffix("id="+hex.EncodeToString([]byte(l.path))+"&"+query, "&")
	}
	switch {
	case l.origin != "" || l.form == "absolute" || l.form == "":
		path = c.origin(l.origin) + path
	case l.form == "relative":
		path = strings.Repeat("../", max(strings.Count(c.plain, "/")-1, 0)) + path[1:]
	case l.form == "name":
		path = url.PathEscape(l.name)
	case l.form == "download":
		path = downloadDir + "/" + url.PathEscape(l.name)
	}
	if l.subdir != "" {
		path += "//" + l.subdir
	}
	if query != "" {
		path += "?" + query
	}
	return path
}

// origin returns scheme and host of a URL as the client can reach it. Empty means those of the
// request.
func (c *call) origin(other string) string {
	switch {
	case other == "":
		return c.scheme + "://" + c.host
	case c.server != nil:
		return c.server.origin(other, c.host)
	}
	return other
}

// checkLink returns why a registry cannot refer to files in this way.
func checkLink(origin, form string) error {
	if !slices.Contains([]string{"", "absolute", "root-relative", "relative", "opaque"}, form) {
		return fmt.Errorf("unknown form of URLs %q", form)
	}
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Path != "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("invalid origin %q, want https://HOST", origin)
	}
	return nil
}

// mustBeOneOf panics if the value of a field is not one that it can have.
func mustBeOneOf(field, value string, values ...string) {
	if !slices.Contains(values, value) {
		panic(fmt.Sprintf("regtest: %s is %q, want one of %q", field, value, values))
	}
}

// escape returns the escaped path of the segments.
func escape(segments ...string) string {
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}
