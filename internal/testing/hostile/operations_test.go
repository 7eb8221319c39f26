package hostile_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/throttle"
)

// Each service has its own host, so that the host identifies the service.
const (
	registryHost = "registry.example.com"
	apiHost      = "api.example.com"
	filesHost    = "files.example.com"
	mirrorHost   = "mirror.example.com"
	cdnHost      = "cdn.example.com"
	elsewhere    = "elsewhere.example.com"
)

const (
	registryToken = "r3g1stry-t0ken"
	mirrorToken   = "m1rr0r-t0ken"
	packageSize   = 300_000 // bytes, of what is downloaded
)

var (
	alpha  = addrs.MustParseProvider(registryHost + "/acme/alpha")
	v1     = addrs.MustParseVersion("1.0.0")
	linux  = addrs.MustParsePlatform("linux_amd64")
	plain  = mustModule("plain")
	paged  = mustModule("paged")
	direct = mustModule("direct")
)

func mustModule(name string) addrs.Module {
	return addrs.MustParseModule(registryHost + "/acme/" + name + "/aws")
}

// world is a registry, a mirror, and the settings of all clients.
type world struct {
	reg         *regtest.Registry
	provider    *regtest.Release       // alpha
	module      *regtest.ModuleRelease // plain
	http        *http.Client
	credentials auth.Source
	timeout     time.Duration
	retries     int
	allowHTTP   bool
	veto        func(host string) error
}

func newWorld(t testing.TB) *world { return newWorldOf(t, packageSize) }

// newWorldOf returns a world with packages of about size bytes.
func newWorldOf(t testing.TB, size int64) *world {
	t.Helper()
	reg := regtest.New(registryHost)
	reg.Services = map[string]any{
		"providers.v1": "https://" + apiHost + "/v1/providers/",
		"modules.v1":   "https://" + apiHost + "/v1/modules/",
	}
	reg.Mirror.Origin = "https://" + cdnHost
	released := reg.AddProvider(regtest.Provider{
		Address: "acme/alpha", Platforms: []string{linux.String()}, Size: size,
		Origin: "https://" + filesHost, Warnings: []string{"use beta"}, PackageHashes: true,
	})
	yes := true
	published := reg.AddModule(regtest.Module{Address: "acme/plain/aws", Size: size, Origin: "https://" + filesHost, Answer: "body", Properties: map[string]any{
		"deprecated": map[string]any{"reason": "old", "link": "https://www.example.com/"},
	}})
	reg.AddModule(regtest.Module{Address: "acme/paged/aws", Size: size, Origin: "https://" + filesHost, Pages: 1, MetaTag: true})
	reg.AddModule(regtest.Module{Address: "acme/direct/aws", Size: size, UseRegistryCredentials: &yes})
	return &world{reg: reg, provider: released, module: published, http: reg.Client(), credentials: auth.Static(map[svchost.Hostname]auth.Token{
		svchost.MustParse(registryHost): auth.MustNewToken(registryToken),
		svchost.MustParse(mirrorHost):   auth.MustNewToken(mirrorToken),
	})}
}

// throttled allows one request at a time for each host.
func (w *world) throttled() {
	w.http = &http.Client{Transport: &throttle.Transport{Base: w.reg, Parallel: 1}}
}

func (w *world) transport() *transport.Settings {
	return &transport.Settings{HTTP: w.http, Credentials: w.credentials, Timeout: w.timeout, Retries: w.retries, AllowHTTP: w.allowHTTP, VetoHost: w.ask}
}

func (w *world) disco() *disco.Client { return &disco.Client{Transport: w.transport()} }

func (w *world) registry() *regclient.Client { return &regclient.Client{Transport: w.transport()} }

func (w *world) mirror() *mirrorclient.Client {
	return &mirrorclient.Client{BaseURL: "https://" + mirrorHost + "/mirror/", Transport: w.transport()}
}

// ask is the VetoHost of all clients. Tests may set the veto later.
func (w *world) ask(host string) error {
	if w.veto == nil {
		return nil
	}
	return w.veto(host)
}

// operation is one request of a client. Its result is a document, or the number of bytes that were
// read.
type operation struct {
	name  string
	kind  regtest.Kind
	host  string
	token string // the token that is sent, if any
	limit int64  // limit of the body in bytes, 0 without a limit
	json  bool   // whether the answer is JSON
	hops  int    // maximum number of redirects

	// prepare makes the previous requests and returns the operation.
	prepare func(ctx context.Context, w *world) (run func(ctx context.Context) (result any, err error), err error)
}

// streams reports whether the operation downloads a file, which is resumed.
func (op *operation) streams() bool { return op.limit == 0 }

// beside reports whether another request is made concurrently.
func (op *operation) beside() bool { return op.kind == regtest.Sums || op.kind == regtest.Signature }

// is reports whether q is a request of the operation.
func (op *operation) is(q regtest.Request) bool { return q.Kind == op.kind }

// operations are all requests of the clients in this module.
var operations = []operation{
	{name: "discovery", kind: regtest.Discovery, host: registryHost, token: registryToken, limit: 1 << 20, json: true, hops: 5, prepare: func(_ context.Context, w *world) (func(context.Context) (any, error), error) {
		c := w.disco()
		return func(ctx context.Context) (any, error) { return c.Discover(ctx, alpha.Host()) }, nil
	}},
	{name: "versions", kind: regtest.Versions, host: apiHost, token: registryToken, limit: 16 << 20, json: true, hops: 10, prepare: func(ctx context.Context, w *world) (func(context.Context) (any, error), error) {
		c := w.registry()
		_, err := c.ProviderVersions(ctx, alpha)
		return func(ctx context.Context) (any, error) { return c.ProviderVersions(ctx, alpha) }, err
	}},
	{name: "package", kind: regtest.Package, host: apiHost, token: registryToken, limit: 1 << 20, json: true, hops: 10, prepare: func(ctx context.Context, w *world) (func(context.Context) (any, error), error) {
		c := w.registry()
		_, err := c.ProviderPackage(ctx, alpha, v1, linux)
		return func(ctx context.Context) (any, error) { return c.ProviderPackage(ctx, alpha, v1, linux) }, err
	}},
	{name: "sums", kind: regtest.Sums, host: filesHost, limit: 1 << 20, hops: 10, prepare: evidence},
	{name: "signature", kind: regtest.Signature, host: filesHost, limit: 64 << 10, hops: 10, prepare: evidence},
	{name: "archive", kind: regtest.Archive, host: filesHost, hops: 10, prepare: func(ctx context.Context, w *world) (func(context.Context) (any, error), error) {
		return archive(ctx, w.registry())
	}},
	{name: "module versions", kind: regtest.ModuleVersions, host: apiHost, token: registryToken, limit: 16 << 20, json: true, hops: 10, prepare: func(ctx context.Context, w *world) (func(context.Context) (any, error), error) {
		c := w.registry()
		_, err := c.ModuleVersions(ctx, plain)
		return func(ctx context.Context) (any, error) { return c.ModuleVersions(ctx, plain) }, err
	}},
	{name: "module location", kind: regtest.ModuleLocation, host: apiHost, token: registryToken, limit: 16 << 20, json: true, hops: 10, prepare: func(ctx context.Context, w *world) (func(context.Context) (any, error), error) {
		c := w.registry()
		_, err := c.ModuleLocation(ctx, plain, v1)
		return func(ctx context.Context) (any, error) { return c.ModuleLocation(ctx, plain, v1) }, err
	}},
	{name: "module page", kind: regtest.ModulePage, host: filesHost, hops: 10, prepare: moduleArchive(paged)},
	{name: "module archive", kind: regtest.ModulePackage, host: filesHost, hops: 10, prepare: moduleArchive(plain)},
	{name: "module archive of the registry", kind: regtest.ModulePackage, host: apiHost, token: registryToken, hops: 10, prepare: moduleArchive(direct)},
	{name: "mirror index", kind: regtest.MirrorIndex, host: mirrorHost, token: mirrorToken, limit: 16 << 20, json: true, hops: 5, prepare: func(_ context.Context, w *world) (func(context.Context) (any, error), error) {
		c := w.mirror()
		return func(ctx context.Context) (any, error) { return c.ProviderVersions(ctx, alpha) }, nil
	}},
	{name: "mirror version", kind: regtest.MirrorVersion, host: mirrorHost, token: mirrorToken, limit: 1 << 20, json: true, hops: 5, prepare: func(ctx context.Context, w *world) (func(context.Context) (any, error), error) {
		c := w.mirror()
		_, err := c.ProviderVersions(ctx, alpha)
		return func(ctx context.Context) (any, error) { return c.ProviderPackage(ctx, alpha, v1, linux) }, err
	}},
	{name: "mirror archive", kind: regtest.Archive, host: cdnHost, hops: 10, prepare: func(ctx context.Context, w *world) (func(context.Context) (any, error), error) {
		return archive(ctx, w.mirror())
	}},
}

func evidence(ctx context.Context, w *world) (func(context.Context) (any, error), error) {
	c := w.registry()
	pkg, err := c.ProviderPackage(ctx, alpha, v1, linux)
	return func(ctx context.Context) (any, error) { return c.Evidence(ctx, pkg) }, err
}

func archive(ctx context.Context, src provider.Source) (func(context.Context) (any, error), error) {
	pkg, err := src.ProviderPackage(ctx, alpha, v1, linux)
	return func(ctx context.Context) (any, error) {
		body, err := src.Open(ctx, pkg)
		if err != nil {
			return nil, err
		}
		defer body.Close()
		return io.Copy(io.Discard, body)
	}, err
}

func moduleArchive(m addrs.Module) func(context.Context, *world) (func(context.Context) (any, error), error) {
	return func(ctx context.Context, w *world) (func(context.Context) (any, error), error) {
		c := w.registry()
		loc, err := c.ModuleLocation(ctx, m, v1)
		return func(ctx context.Context) (any, error) {
			body, err := c.OpenModule(ctx, loc)
			if err != nil {
				return nil, err
			}
			defer body.Close()
			return io.Copy(io.Discard, body)
		}, err
	}
}

// ready prepares the operation, resets the record of requests, and adds faults of the operation.
func (op *operation) ready(t testing.TB, w *world, faults ...regtest.Fault) func(context.Context) (any, error) {
	t.Helper()
	run, err := op.prepare(t.Context(), w)
	if err != nil {
		t.Fatalf("before the %s: %v", op.name, err)
	}
	w.reg.Reset()
	for _, f := range faults {
		f.Kind = op.kind
		w.reg.AddFault(f)
	}
	return run
}

// TestOperations checks the table itself.
func TestOperations(t *testing.T) {
	t.Parallel()
	kinds := regtest.Kind(0)
	for _, op := range operations {
		kinds |= op.kind
		w := newWorld(t)
		if _, err := op.ready(t, w)(t.Context()); err != nil {
			t.Errorf("%s: %v", op.name, err)
		}
		found := false
		for _, q := range w.reg.Requests() {
			if !op.is(q) {
				continue
			}
			found = true
			want := ""
			if op.token != "" {
				want = "Bearer " + op.token
			}
			if q.Host != op.host || q.Authorization != want {
				t.Errorf("%s: %v with Authorization %q", op.name, q, q.Authorization)
			}
		}
		if !found {
			t.Errorf("%s: no such request among %v", op.name, w.reg.Requests())
		}
	}
	for kind := regtest.Discovery; kind <= regtest.MirrorVersion; kind <<= 1 {
		if kinds&kind == 0 {
			t.Errorf("no operation is of the kind %s", kind)
		}
	}
}
