package regserve

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/access"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/webserve"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A Handler is an [http.Handler] that serves discovery, providers and modules at the root of a
// host. Clients require https. Set the fields before the first request; after it a Handler
// must not be copied.
//
// It answers GET and HEAD. Status 404 means that the source lacks the item, 502 that it failed, 503 that
// the client has too many requests. The body has the property "errors", without URLs of the source.
//
// What a document says about a package or a module is used for a minute, for the files that it names.
// Without Authorize all clients share these answers, also for documents. With Authorize each document
// is asked for with the context of its request, and only the URLs that it lists lead to its answer.
//
// A client that reads nothing for a minute is disconnected. WriteTimeout of [http.Server] has no
// effect on archives and documents.
type Handler struct {
	// Providers and Modules are the sources. If one is nil, the Handler serves none of its kind.
	Providers provider.Source
	Modules   module.Source

	// Host replaces the server's own name in addresses passed to Providers and Modules. If zero,
	// [addrs.DefaultHost] is used. It must not be this server if the sources are clients of it.
	Host svchost.Hostname

	// BaseURL is the URL under which clients reach the Handler. If empty, it is https:// and the
	// Host header of the request. A reverse proxy that serves the Handler below a path must remove
	// the path, and forward requests for /.well-known/terraform.json at the root of the host.
	BaseURL string

	// Services are further services of the host, such as login.v1, with values as in [disco.NewServices]. A
	// client must be able to use each of them. If one is invalid, or one of the Handler's own, the status of
	// discovery is 500, and Logger logs why.
	Services map[disco.Service]any

	// Archive returns the URL to which a request for the archive of pkg is redirected: pkg.URL or a copy.
	// If it is nil or returns "", the Handler streams the archive, and breaks off before the end if it
	// lacks the stated hash. HEAD is not redirected.
	Archive func(ctx context.Context, pkg *provider.Package) (url string, err error)

	// SourceURLs makes documents name the URLs of the archive, of SHA256SUMS and of the signature that
	// the source states, if all three are https. Clients then fetch them without the Handler: neither
	// Archive nor Authorize nor Limits concerns them, and clients send no token to them. Set it only if
	// everybody who may ask the Handler for a document may know these URLs, and can request them.
	SourceURLs bool

	// StreamModules makes the Handler serve module packages that are archives at a URL. If false,
	// clients get their location. Packages that require the token of the source are always served.
	StreamModules bool

	// Authorize, if not nil, is called for each request except discovery and signed URLs. After an error
	// the status is 401. Clients send no token for SHA256SUMS, signatures and archives, also of modules:
	// these URLs are signed, and work for any client for up to two hours.
	Authorize func(r *http.Request) error

	// Secret is as in [github.com/tofureg/tofureg/mirrorclient/mirrorserve.Handler].
	Secret []byte

	// Parallel limits concurrent answers: a client gets 4 × Parallel archives and as many documents, all
	// clients 16 × Parallel. If zero or less, 16 is used.
	Parallel int

	// Client is as in mirrorserve.Handler, and necessary behind a reverse proxy.
	Client func(r *http.Request) string

	// Limits.Package is the maximum size of a streamed archive in bytes.
	Limits checksum.Limits

	// TempDir is for archives of range requests. If empty, [os.TempDir] is used.
	TempDir string

	// Logger, if not nil, logs failures of the source as Warn, and requests for missing items as
	// Debug. It also logs once, as Warn, that Secret or Client is missing.
	Logger *slog.Logger

	// Access, if not nil, is called after each answer, by the goroutine of the request.
	Access func(context.Context, access.Entry)

	once      sync.Once
	mux       *http.ServeMux
	server    *webserve.Server
	providers *keptEvidence
	packages  recent[packageKey, *provider.Package]
	locations recent[moduleKey, *module.Location]
}

const (
	providersPath = "/v1/providers/"
	modulesPath   = "/v1/modules/"
)

func (h *Handler) setup() {
	h.mux = http.NewServeMux()
	h.server = webserve.New(webserve.Config{
		Name: "registry", Parallel: h.Parallel, Client: h.Client, Logger: h.Logger, Access: h.Access,
		Authorize: h.Authorize, Secret: h.Secret, HideHost: true,
	})
	h.mux.Handle("/.well-known/terraform.json", h.answerJSON(h.discovery))
	if h.Providers != nil {
		h.providers = keepEvidence(h.Providers)
		h.packages.setup()
		const pkg = providersPath + "{namespace}/{type}/{version}/download/{os}/{arch}"
		h.mux.Handle(providersPath+"{namespace}/{type}/versions", h.guarded(h.answerJSON(h.providerVersions)))
		h.mux.Handle(pkg, h.guarded(h.answerJSON(h.providerPackage)))
		h.mux.Handle(pkg+"/"+sumsName, h.signed(h.answer("text/plain; charset=utf-8", h.file(access.Sums, func(ev verify.Evidence) []byte { return ev.Sums }))))
		h.mux.Handle(pkg+"/"+signatureName, h.signed(h.answer("application/octet-stream", h.file(access.Signature, func(ev verify.Evidence) []byte { return ev.Signature }))))
		h.mux.Handle(pkg+"/"+archiveName, h.signed(h.handle(h.archive)))
	}
	if h.Modules != nil {
		h.locations.setup()
		const mod = modulesPath + "{namespace}/{name}/{system}/"
		h.mux.Handle(mod+"versions", h.guarded(h.answerJSON(h.moduleVersions)))
		h.mux.Handle(mod+"{version}/download", h.guarded(h.handle(h.moduleLocation)))
		h.mux.Handle(mod+"{version}/"+packageName, h.signed(h.handle(h.modulePackage)))
	}
	h.mux.Handle("/", h.handle(func(http.ResponseWriter, *http.Request) error { return webserve.ErrPath }))
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(h.setup)
	h.server.Serve(w, r, func(w http.ResponseWriter, r *http.Request) error {
		h.mux.ServeHTTP(w, r)
		return nil
	})
}

// guarded calls next if Authorize accepts the request.
func (h *Handler) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := h.server.Guard.Allow(w, r, ""); ok {
			next.ServeHTTP(w, r)
		}
	})
}

// signed calls next if the URL is signed or Authorize accepts the request.
func (h *Handler) signed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer, ok := h.server.Guard.Allow(w, r, r.URL.Path); ok {
			r.SetPathValue(answerValue, answer)
			next.ServeHTTP(w, r)
		}
	})
}

// handle returns a handler that sends the error of serve.
func (h *Handler) handle(serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r); err != nil {
			h.server.Fail(w, r, err)
		}
	})
}

// finder finds a document, and tells the response what it is about.
type finder[T any] func(http.ResponseWriter, *http.Request) (T, error)

// answer returns a handler that sends a document.
func (h *Handler) answer(contentType string, find finder[[]byte]) http.Handler {
	return h.handle(func(w http.ResponseWriter, r *http.Request) error {
		return h.server.Document(w, r, contentType, func(context.Context) ([]byte, error) { return find(w, r) })
	})
}

// answerJSON returns a handler that sends a JSON document.
func (h *Handler) answerJSON(find finder[any]) http.Handler {
	return h.answer("application/json", func(w http.ResponseWriter, r *http.Request) ([]byte, error) {
		doc, err := find(w, r)
		if err != nil {
			return nil, err
		}
		return h.server.Encode(r.Context(), func() any { return doc }, "")
	})
}

// discovery returns the discovery document.
func (h *Handler) discovery(w http.ResponseWriter, _ *http.Request) (any, error) {
	webserve.About(w, access.Entry{Kind: access.Discovery})
	services, err := h.services()
	if err != nil {
		return nil, fmt.Errorf("%w: field Services: %w", webserve.ErrConfig, err)
	}
	return services, nil
}

// services returns all services of the host. It checks them as a client does.
func (h *Handler) services() (map[disco.Service]any, error) {
	base := strings.TrimSuffix(h.BaseURL, "/")
	services := map[disco.Service]any{}
	if h.Providers != nil {
		services[disco.ProvidersV1] = base + providersPath
	}
	if h.Modules != nil {
		services[disco.ModulesV1] = base + modulesPath
	}
	for id, value := range h.Services {
		if _, own := services[id]; own {
			return nil, fmt.Errorf("%q is the Handler itself", id)
		}
		services[id] = value
	}
	document, err := json.Marshal(services)
	if err != nil {
		return nil, err
	}
	parsed, err := disco.ParseServices(svchost.MustParse("localhost"), nil, document) // whatever name clients use
	if err != nil {
		return nil, err
	}
	for id := range h.Services {
		if id == disco.LoginV1 {
			_, err = parsed.OAuthClient()
		} else {
			_, err = parsed.URL(id)
		}
		if err != nil {
			return nil, err
		}
	}
	return services, nil
}

// base returns the URL of the path under which the client has reached h.
func (h *Handler) base(r *http.Request, path string) string {
	if h.BaseURL != "" {
		return strings.TrimSuffix(h.BaseURL, "/") + path
	}
	return fmt.Sprintf("https://%s%s", r.Host, path)
}

// fileURL returns the URL of the file at path, signed for an answer of the source if Authorize is set.
func (h *Handler) fileURL(r *http.Request, path, answer string) string {
	return h.base(r, (&url.URL{Path: path}).EscapedPath()) + h.server.Guard.Query(path, answer)
}
