package mirrorserve

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/access"
	"github.com/tofureg/tofureg/serve/internal/webserve"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Handler is an [http.Handler] for the network mirror protocol. Set the fields before the first
// request. After it a Handler must not be copied.
//
// It answers GET and HEAD for HOST/NAMESPACE/TYPE/index.json, VERSION.json and archives by their canonical
// names, with strong entity tags and single ranges. URLs in documents are relative. The status is 404 if
// the source does not have a package, and 502 after another failure or a refusal by Policy, with a JSON
// object whose "errors" omit the URL of the source.
//
// If Source is a [github.com/tofureg/tofureg/serve/mirrordir.Mirror], its packages are served without Policy, also those of other programs.
// Archives in an object store must have the recorded hashes, in a local directory the recorded size. If
// Source is a [Cache], its Policy, its Parallel, its Platforms and the TempDir of its Mirror count. [provider.As]
// finds both behind wrappers; packages and archives then come from the wrapper. A struct that embeds one of these
// is like any other source.
//
// From any other source, documents have the hashes that Policy permits, regardless of Accept, or those of a
// [provider.Catalogue]. Archives are verified while they are forwarded. The last byte is sent only if Policy accepts
// the archive; otherwise the connection is aborted. Ranges are sent after verification. Concurrent requests share one
// download into a temporary file, of which there are at most 16 × Parallel. Nothing is cached.
//
// A client that reads nothing for a minute is disconnected. WriteTimeout of [http.Server] has no effect
// on archives and documents.
type Handler struct {
	// Source has the packages. It must not be nil.
	Source provider.Source

	// Policy is as in [Cache].
	Policy func(addrs.Provider) verify.Policy

	// Platforms are requested if Source lists none and is no [provider.Catalogue]. If empty, common ones are.
	Platforms []addrs.Platform

	// Parallel is as in [Cache].
	//
	// A client gets at most 4 × Parallel archives and as many documents at once, all clients 16 ×
	// Parallel. Further requests get status 503 after five seconds. Archives in a local mirror have no
	// such limit. Lists of versions are requested Parallel/4 at a time for each host.
	Parallel int

	// Client, if not nil, returns what identifies the client of a request; behind a reverse proxy, from
	// the header that the proxy sets. If nil, it is the IP address of the connection, or the first 64 bits
	// of an IPv6 address.
	Client func(r *http.Request) string

	// Archive, if not nil, returns the URL to which a request for the archive of pkg is redirected,
	// such as a copy in a bucket. If it returns "", the Handler sends the archive. If Source is a
	// mirror or a [Cache], [github.com/tofureg/tofureg/serve/mirrordir.Mirror.ArchiveLink] is such a function. Clients verify the stated
	// hashes; Policy does not judge the copy. HEAD is not redirected.
	Archive func(ctx context.Context, pkg *provider.Package) (url string, err error)

	// Authorize, if not nil, is called for each request without a signed URL. After an error the status is
	// 401. Clients send no token for archives, so documents list signed URLs, which work for any client
	// for up to two hours. Requests share the answers of Source: it must answer all clients alike.
	Authorize func(r *http.Request) error

	// Secret signs URLs. It is the same for all replicas. A [github.com/tofureg/tofureg/serve/regserve.Handler] may
	// have the same, but another handler of this type only if it is for the same clients. If empty, it is random:
	// signed URLs end with the process.
	Secret []byte

	// TempDir is for temporary files. If empty, [os.TempDir] is used.
	TempDir string

	// Logger, if not nil, logs failures of Source as Warn, and missing packages as Debug. It also logs once, as
	// Warn, that Secret or Client is missing.
	Logger *slog.Logger

	// Access, if not nil, is called after each answer, by the goroutine of the request.
	Access func(context.Context, access.Entry)

	once      sync.Once
	server    *webserve.Server
	puller    *puller
	caches    bool // whether the source is a Cache, which verifies archives
	local     bool // whether archives are local files, of which clients hold nothing but a descriptor
	catalogue provider.Catalogue
	lists     *hostShares // one for each list of versions
	documents flight.Group[documentKey, document]
}

// cache is a [Cache].
type cache interface{ setup() *puller }

// mirror is a [github.com/tofureg/tofureg/serve/mirrordir.Mirror], whose archives were verified when they were added.
type mirror interface {
	provider.Catalogue
	IsLocal() bool
	RecordedPackage(context.Context, addrs.Provider, addrs.Version, addrs.Platform, verify.Policy) (*provider.Package, error)
}

// setup prepares the handler for the source, which may be wrapped.
func (h *Handler) setup() {
	h.once.Do(func() {
		src, temp := h.Source, tempStage(h.TempDir)
		var c cache
		if c, h.caches = provider.As[cache](src); h.caches {
			h.puller = prepare(c.setup().parallel, nil)
			h.puller.source = provider.CheckAnswers(src)
		} else if m, ok := provider.As[mirror](src); ok {
			h.local = m.IsLocal()
			h.puller = newPuller(src, 0, h.Parallel, temp, func(p addrs.Provider) origin { return mirrorOrigin(src, h.local, h.Policy, p) })
		} else {
			h.puller = newPuller(src, webserve.Asked, h.Parallel, temp, func(p addrs.Provider) origin {
				return origin{Opener: src, policy: policyFor(h.Policy, p)}
			})
		}
		var ok bool
		if h.catalogue, ok = provider.As[provider.Catalogue](src); !ok {
			h.catalogue = &sourceCatalogue{h.puller, h.Policy, h.Platforms}
		}
		h.lists = listSlots(h.puller.parallel)
		h.server = webserve.New(webserve.Config{
			Name: "mirror", Parallel: h.puller.parallel, Client: h.Client, Logger: h.Logger, Access: h.Access,
			Authorize: h.Authorize, Secret: h.Secret,
		})
	})
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
	if !h.local {
		leave, err := h.server.EnterArchive(r)
		if err != nil {
			return err
		}
		defer leave()
	}
	pkg, err := h.puller.findPackage(r.Context(), q)
	if err != nil {
		return err
	}
	if done, err := webserve.Redirect(w, r, h.Archive, pkg); done || err != nil {
		return err
	}
	if webserve.ArchiveHeader(w, r, "application/zip", tagOf(pkg), pkg.Size) {
		return nil
	}
	body, err := h.open(r, q, pkg)
	if err != nil {
		return err
	}
	defer body.close()
	asked := webserve.OneRange(r)
	if body.whole {
		asked = r.Clone(r.Context())
		asked.Header.Del("Range")
	}
	http.ServeContent(w, asked, "", time.Time{}, body)
	if body.err != nil {
		if h.Logger != nil && r.Context().Err() == nil {
			h.Logger.WarnContext(r.Context(), "mirror transfer aborted", "path", r.URL.Path, "error", body.err)
		}
		// The status has been sent. Abort the connection, so that the client notices.
		panic(http.ErrAbortHandler)
	}
	if h.caches { // close may wait for the mirror
		http.NewResponseController(w).Flush() // an error means that the client has left
	}
	return nil
}

// sent is an archive that is sent. Its last byte can be read only if it is accepted.
type sent struct {
	io.Reader
	io.Seeker
	whole bool // whether it has no ranges, because it cannot be read twice
	close func()
	err   error // why reading has failed
}

func (s *sent) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// open opens the archive that r requests. A client does not verify ranges, so they wait for the verification.
func (h *Handler) open(r *http.Request, q request, pkg *provider.Package) (*sent, error) {
	ranges := r.Header.Get("Range") != ""
	if !h.caches {
		body := h.puller.read(r.Context(), q, pkg)
		if err := body.begin(ranges); err != nil {
			body.leave()
			return nil, err
		}
		return &sent{Reader: body, Seeker: body, close: body.leave}, nil
	}
	body, err := h.puller.source.Open(r.Context(), pkg)
	if err != nil {
		return nil, err
	}
	s := &sent{Reader: body, close: func() { body.Close() }}
	var seeks bool
	if s.Seeker, seeks = body.ReadCloser.(io.Seeker); !seeks { // a wrapper hides it
		s.whole, s.Seeker = true, sizeOnly(body.Size)
	} else if ranges {
		if err := readLast(s); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// readLast reads the last byte, and goes back to the start.
func readLast(s io.ReadSeeker) error {
	size, err := s.Seek(0, io.SeekEnd)
	if size > 0 && err == nil {
		_, err = s.Seek(size-1, io.SeekStart)
		if err == nil {
			_, err = io.ReadFull(s, make([]byte, 1))
		}
	}
	if err == nil {
		_, err = s.Seek(0, io.SeekStart)
	}
	return err
}

// sizeOnly is the size of an archive that is read from its start, for [http.ServeContent].
type sizeOnly int64

func (n sizeOnly) Seek(_ int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		return int64(n), nil
	}
	return 0, nil
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
