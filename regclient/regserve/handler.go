package regserve

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A Handler is an [http.Handler] that serves discovery, providers and modules at the root of a
// host. Clients require https. Set the fields before the first request; after it a Handler
// must not be copied.
//
// It answers GET and HEAD. Status 404 means that the source does not have the requested item,
// and 502 that the source failed. The body has the property "errors", without URLs of the
// source. Documents have entity tags.
type Handler struct {
	// Providers has the providers. If nil, the Handler does not serve providers.
	Providers provider.Source

	// Modules has the modules. If nil, the Handler does not serve modules.
	Modules module.Source

	// Host is the host of the addresses that the sources are asked for. If zero,
	// [addrs.DefaultHost] is used.
	Host svchost.Hostname

	// BaseURL is the URL under which clients reach the Handler, https://HOST without a
	// path. If empty, it is https:// and the Host header of the request.
	BaseURL string

	// Archive, if not nil, returns the URL to which a request for the archive of pkg is
	// redirected: pkg.URL, or a copy in a bucket. If it is nil or returns "", the Handler
	// streams the archive.
	Archive func(ctx context.Context, pkg *provider.Package) (url string, err error)

	// StreamModules makes the Handler serve module packages that are archives at a URL. If
	// false, clients get the location from the source. Packages that require the token of the
	// source are always served.
	StreamModules bool

	// Authorize, if not nil, is called for each request except discovery. If it returns an
	// error, the status is 401. Clients send no token for SHA256SUMS, signatures and archives,
	// so these URLs are signed for up to two hours.
	Authorize func(r *http.Request) error

	// Secret is the key of signatures in URLs, shared by all replicas. If empty, a random key
	// is used.
	Secret []byte

	// Parallel is the maximum number of concurrent archives; other requests wait. If zero or
	// less, 16 is used.
	Parallel int

	// Limits.Package is the maximum size of a streamed archive in bytes; see
	// [checksum.Limits].
	Limits checksum.Limits

	// TempDir is the directory for archives of range requests. If empty, [os.TempDir] is used.
	TempDir string

	// Logger logs failures of the source as Warn, and requests for missing items as Debug. If
	// nil, nothing is logged.
	Logger *slog.Logger

	once      sync.Once
	mux       *http.ServeMux
	providers provider.Source
	streams   chan struct{}
	secret    []byte
}

const (
	providersPath = "/v1/providers/"
	modulesPath   = "/v1/modules/"
)

func (h *Handler) setup() {
	h.mux = http.NewServeMux()
	h.mux.Handle("GET /.well-known/terraform.json", h.answer(h.discovery))
	if h.Providers != nil {
		h.providers = provider.ShareEvidence(h.Providers)
		const pkg = "GET " + providersPath + "{namespace}/{type}/{version}/download/{os}/{arch}"
		h.mux.Handle("GET "+providersPath+"{namespace}/{type}/versions", h.guarded(h.answer(h.providerVersions)))
		h.mux.Handle(pkg, h.guarded(h.answer(h.providerPackage)))
		h.mux.Handle(pkg+"/"+sumsName, h.signed(h.answer(h.file("text/plain; charset=utf-8", func(ev verify.Evidence) []byte { return ev.Sums }))))
		h.mux.Handle(pkg+"/"+signatureName, h.signed(h.answer(h.file("application/octet-stream", func(ev verify.Evidence) []byte { return ev.Signature }))))
		h.mux.Handle(pkg+"/"+archiveName, h.signed(h.handle(h.archive)))
	}
	if h.Modules != nil {
		const mod = "GET " + modulesPath + "{namespace}/{name}/{system}/"
		h.mux.Handle(mod+"versions", h.guarded(h.answer(h.moduleVersions)))
		h.mux.Handle(mod+"{version}/download", h.guarded(h.handle(h.moduleLocation)))
		h.mux.Handle(mod+"{version}/"+packageName, h.signed(h.handle(h.modulePackage)))
	}
	h.mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusNotFound, "nothing is served at this path")
	})
	n := h.Parallel
	if n <= 0 {
		n = 16
	}
	h.streams = make(chan struct{}, n)
	if h.secret = h.Secret; len(h.secret) == 0 {
		h.secret = make([]byte, 32)
		_, _ = rand.Read(h.secret) // never fails
	}
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(h.setup)
	h.mux.ServeHTTP(w, r)
}

// document is the body of an answer.
type document struct {
	contentType string
	body        []byte
}

func jsonDocument(v any) (document, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return document{"application/json", b.Bytes()}, err
}

// answer returns a handler that sends a document with an entity tag.
func (h *Handler) answer(find func(*http.Request) (document, error)) http.Handler {
	return h.handle(func(w http.ResponseWriter, r *http.Request) error {
		doc, err := find(r)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(doc.body)
		w.Header().Set("Content-Type", doc.contentType)
		w.Header().Set("Etag", `"`+hex.EncodeToString(sum[:16])+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(doc.body))
		return nil
	})
}

// handle returns a handler that sends the error of serve.
func (h *Handler) handle(serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r); err != nil {
			h.fail(w, r, err)
		}
	})
}

// errAddress means that a path is not a canonical address.
var errAddress = errors.New("the path is not a canonical address")

func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		w.Header().Del("Etag")
		w.WriteHeader(http.StatusServiceUnavailable) // the client has disconnected, or the server ends
		return
	}
	status, level := http.StatusBadGateway, slog.LevelWarn
	if errors.Is(err, provider.ErrNotFound) || errors.Is(err, errAddress) {
		status, level = http.StatusNotFound, slog.LevelDebug
	}
	if h.Logger != nil {
		h.Logger.Log(r.Context(), level, "registry request failed", "method", r.Method, "path", r.URL.Path, "status", status, "error", err)
	}
	writeError(w, status, describe(err))
}

// describe returns a text for clients, without URLs of the source.
func describe(err error) string {
	for _, kind := range []error{
		errAddress, provider.ErrNoPlatform, provider.ErrNoVersion, provider.ErrNotFound, provider.ErrUnauthorized,
		provider.ErrTooLarge, provider.ErrInsecure, provider.ErrUnpacked, verify.ErrUnsigned,
	} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return "the source did not give a usable answer"
}

func writeError(w http.ResponseWriter, status int, text string) {
	doc, _ := jsonDocument(map[string][]string{"errors": {text}}) // cannot fail for texts
	w.Header().Del("Etag")                                        // an archive has one before it is opened
	w.Header().Set("Content-Type", doc.contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(doc.body) // fails if the client has disconnected
}

// discovery returns the discovery document.
func (h *Handler) discovery(*http.Request) (document, error) {
	services := map[string]string{}
	if h.Providers != nil {
		services["providers.v1"] = providersPath
	}
	if h.Modules != nil {
		services["modules.v1"] = modulesPath
	}
	return jsonDocument(services)
}

// base returns the URL of the path under which the client has reached h.
func (h *Handler) base(r *http.Request, path string) string {
	if h.BaseURL != "" {
		return h.BaseURL + path
	}
	return fmt.Sprintf("https://%s%s", r.Host, path)
}
