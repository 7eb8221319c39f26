package mirrorserve

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/access"
	"github.com/tofureg/tofureg/serve/internal/webserve"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Handler is an [http.Handler] for the network mirror protocol. Set the fields before use. A Handler must not be copied.
//
// It answers GET and HEAD for HOST/NAMESPACE/TYPE/index.json, VERSION.json and archives by their canonical names, with
// strong entity tags and single ranges. URLs in documents are relative. The status is 404 if Source lacks a package,
// 502 after another failure or a refusal by Policy. The JSON property "errors" says why, without the URL of the source.
//
// If Source is [provider.Verified], such as a [github.com/tofureg/tofureg/serve/mirrordir.Mirror] or a [Cache], perhaps
// behind wrappers ([provider.As]), its packages are served without Policy, also hashes of other programs. Archives in
// an object store must have the stated hashes, in a local directory the recorded size. Of a [Cache], the Policy,
// Parallel and Platforms count, and the TempDir of its Mirror.
//
// From any other source, documents have the hashes that Policy permits, regardless of Accept, or the hashes of a
// [provider.Catalogue]. Archives are verified while they are forwarded: if Policy refuses one, the connection is
// aborted before the last byte. Ranges are sent after verification. Concurrent requests share one download into a
// temporary file, of which there are at most 16 × Parallel. Nothing is cached.
//
// A client that reads nothing for a minute is disconnected. WriteTimeout of [http.Server] has no effect on archives and
// documents.
type Handler struct {
	Source provider.Source // has the packages; required

	Policy provider.Policies // as in [Cache]

	Platforms []addrs.Platform // as in [Cache], unless Source is a [provider.Catalogue]

	// Parallel is as in [Cache]; for lists of versions it is Parallel/4. A client gets at most 4 × Parallel archives and as
	// many documents at once, all clients 16 × Parallel. Further requests get status 503 after five seconds. Archives in a
	// local mirror have no such limit.
	Parallel int

	// Client, if not nil, returns what identifies the client of a request, such as a header that a reverse proxy sets. If
	// nil, it is the IP address of the connection, or the first 64 bits of an IPv6 address.
	Client func(r *http.Request) string

	// Archive, if not nil, returns the URL to which a GET request for the archive of pkg is redirected, or "" if the
	// Handler sends the archive. For a mirror or a [Cache], [github.com/tofureg/tofureg/serve/mirrordir.Mirror.ArchiveLink]
	// is such a function. Clients verify the stated hashes; Policy does not judge the copy.
	Archive func(ctx context.Context, pkg *provider.Package) (url string, err error)

	// Authorize, if not nil, is called for each request without a signed URL. After an error the status is 401. Clients
	// send no token for archives, so documents list signed URLs, which work for any client for up to two hours. Requests
	// share the answers of Source: it must answer all clients alike.
	Authorize func(r *http.Request) error

	// Secret signs URLs, the same for all replicas. A [github.com/tofureg/tofureg/serve/regserve.Handler] may have the
	// same, another handler of this type only if it has the same clients. If empty, it is random: signed URLs end with the
	// process.
	Secret []byte

	TempDir string // for temporary files; if empty, [os.TempDir]

	// Logger, if not nil, logs failures of Source as Warn, missing packages as Debug, and once, as Warn, that Secret or
	// Client is missing.
	Logger *slog.Logger

	Access func(context.Context, access.Entry) // if not nil, is called after each answer, by the goroutine of the request

	once      sync.Once
	server    *webserve.Server
	source    provider.Source    // Source, or what downloads and verifies its archives
	catalogue provider.Catalogue // nil if Source has none
	limited   bool               // whether each archive may need a temporary file
	lists     *hostShares        // one for each list of versions
	documents flight.Group[documentKey, document]
}

// setup finds out what Source can do, which may be wrapped.
func (h *Handler) setup() {
	h.once.Do(func() {
		if lists, ok := provider.As[provider.Catalogue](h.Source); ok {
			h.catalogue = lists
		}
		n := workers(h.Parallel)
		cache, isCache := provider.As[interface{ workers() int }](h.Source)
		if isCache {
			n = cache.workers()
		}
		stored, verified := provider.As[provider.Verified](h.Source)
		if verified && stored.IsLocal() {
			h.source, h.limited = provider.CheckAnswers(h.Source), isCache
		} else {
			h.source, h.limited = newThrough(h, verified, n), true
		}
		h.lists = listSlots(n)
		h.server = webserve.New(webserve.Config{
			Name: "mirror", Parallel: n, Client: h.Client, Logger: h.Logger, Access: h.Access,
			Authorize: h.Authorize, Secret: h.Secret,
		})
	})
}

// through is a source whose archives are verified while they arrive in temporary files.
type through struct {
	*upstream
	downloads *downloads
	tempDir   string
}

func newThrough(h *Handler, verified bool, n int) *through {
	mark := webserve.Asked
	if verified {
		mark = 0
	}
	t := &through{upstream: newUpstream(h.Source, h.Policy, mark, n), tempDir: h.TempDir}
	t.verified = verified
	t.downloads = newDownloads(n, t.fetch)
	return t
}

func (t *through) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	r, err := t.downloads.open(ctx, pkg)
	if err != nil {
		return nil, err
	}
	return &provider.Body{ReadCloser: r, Size: r.size}, nil
}

func (t *through) fetch(ctx context.Context, d *download) (err error) {
	if err := t.downloads.place(ctx, d); err != nil {
		return err
	}
	if d.staged, err = storage.Stage(ctx, nil, t.tempDir); err != nil {
		return err
	}
	got, err := t.receive(ctx, d, d.pkg, false)
	if err != nil {
		return err
	}
	d.accept(got.Size)
	return nil
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.setup()
	h.server.Serve(w, r, h.serve)
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) error {
	q, ok := parseRequest(r.URL.Path)
	if !ok {
		return webserve.ErrPath
	}
	signed := ""
	if q.archive {
		signed = q.name()
	}
	if _, ok := h.server.Guard.Allow(w, r, signed); !ok {
		return nil
	}
	webserve.About(w, q.entry())
	if q.archive {
		return h.serveArchive(w, r, q)
	}
	return h.serveDocument(w, r, q)
}

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
func (q request) name() string { return q.provider.String() + "/" + q.archiveName() }

// archiveName returns the canonical name of the archive.
func (q request) archiveName() string {
	return (&provider.Package{Provider: q.provider, Version: q.version, Platform: q.platform}).ArchiveName()
}

// entry describes what is requested.
func (q request) entry() access.Entry {
	kind := access.Versions
	if q.archive {
		kind = access.Archive
	} else if !q.version.IsZero() {
		kind = access.Archives
	}
	return access.Entry{Kind: kind, Provider: q.provider, Version: q.version, Platform: q.platform}
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
	return !q.version.IsZero() && name == q.archiveName()
}

func (h *Handler) serveArchive(w http.ResponseWriter, r *http.Request, q request) error {
	if h.limited {
		leave, err := h.server.EnterArchive(r)
		if err != nil {
			return err
		}
		defer leave()
	}
	pkg, err := findArchive(r.Context(), h.source, q.provider, q.version, q.platform)
	if err != nil {
		return err
	}
	if done, err := webserve.Redirect(w, r, h.Archive, pkg); done || err != nil {
		return err
	}
	if webserve.ArchiveHeader(w, r, "application/zip", tagOf(pkg), pkg.Size) {
		return nil
	}
	body, err := h.source.Open(r.Context(), pkg)
	if err != nil {
		return err
	}
	defer body.Close() // of a Cache, it waits for the mirror
	if pkg.Size > 0 && pkg.Size != body.Size {
		return failure.Wrap("open", pkg.String(), fmt.Errorf("%w: archive is %d bytes, want %d", checksum.ErrMismatch, body.Size, pkg.Size))
	}
	return h.server.SendArchive(w, r, body.ReadCloser, body.Size)
}

// tagOf returns a strong entity tag, or "" if the package does not have exactly one zh. An h1 does not
// identify an archive.
func tagOf(pkg *provider.Package) string {
	zh := checksum.WithScheme(pkg.Evidence().Hashes, checksum.SchemeZH)
	if len(zh) != 1 {
		return ""
	}
	return `"` + zh[0].Value() + `"`
}

// findArchive returns a package that is an archive.
func findArchive(ctx context.Context, src provider.Source, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	pkg, err := src.ProviderPackage(ctx, p, v, platform)
	if err == nil && pkg.Dir != "" {
		return nil, failure.Wrap("open", pkg.String(), provider.ErrUnpacked)
	}
	return pkg, err
}
