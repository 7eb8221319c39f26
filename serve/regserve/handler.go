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

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/access"
	"github.com/tofureg/tofureg/serve/internal/webserve"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A Handler is an [http.Handler] that serves discovery, providers and modules at the root of a host. Clients require
// https. Set the fields before use. A Handler must not be copied. Slow clients and WriteTimeout are
// treated as by [github.com/tofureg/tofureg/serve/mirrorserve.Handler].
//
// It answers GET and HEAD. Status 404 means that the source lacks the item, 502 that it failed, 503 that the client has
// too many requests. The JSON property "errors" says why, without URLs of the source.
//
// An answer of a source about a package or module is used for a minute, for the files that the document names. Without
// Authorize all clients share it, also for documents. With Authorize each document is asked for with the context of its
// request, and only the URLs that it lists lead to its answer.
type Handler struct {
	// A nil source serves none of its kind.
	Providers provider.Source
	Modules   module.Source

	// Host replaces the server's own name in addresses for the sources. If zero, [addrs.DefaultHost] is used. It must not
	// be this server if the sources are clients of it. Modules need a host with a dot.
	Host svchost.Hostname

	// BaseURL is the URL under which clients reach the Handler. If empty, it is https:// and the Host header of the
	// request. A reverse proxy that serves the Handler below a path must remove the path, and forward
	// /.well-known/terraform.json from the root of the host.
	BaseURL string

	// Services are further services of the host, such as login.v1, with values as in [disco.NewServices]. If one is invalid
	// for clients, or one of the Handler's own, discovery has status 500, and Logger logs why.
	Services map[disco.Service]any

	// Archive is as in [github.com/tofureg/tofureg/serve/mirrorserve.Handler], and may return pkg.URL. An archive that the
	// Handler sends breaks off before the end if it lacks the stated hash.
	Archive func(ctx context.Context, pkg *provider.Package) (url string, err error)

	// SourceURLs makes documents name the URLs of the archive, of SHA256SUMS and of the signature that the source states,
	// if all are https. Clients fetch them without the Handler and without a token: neither Archive nor Authorize nor
	// Limits concerns them. Set it only if all clients of the Handler may know these URLs, and can request them.
	SourceURLs bool

	// StreamModules makes the Handler serve module packages that are archives at a URL. If false, clients get their
	// location. Packages that require the token of the source are always served.
	StreamModules bool

	// ModuleOptions, with StreamModules, makes the Handler also fetch packages of kinds for which it has Git or a Fetcher,
	// and serve them as archives. Without a Cache, each request fetches. The source chooses from where, unless Git.VetoHost
	// or Approve refuses. If nil, clients get the location.
	ModuleOptions *module.Options

	// Authorize, if not nil, is called for each request except discovery and signed URLs. After an error the status is 401.
	// Clients send no token for SHA256SUMS, signatures and archives, also of modules: their URLs are signed, and work for
	// any client for up to two hours.
	Authorize func(r *http.Request) error

	Secret []byte // as in [github.com/tofureg/tofureg/serve/mirrorserve.Handler]

	// Parallel limits concurrent answers: a client gets 4 × Parallel archives and as many documents, all clients 16 ×
	// Parallel. If zero or less, 16 is used.
	Parallel int

	Client func(r *http.Request) string // as in mirrorserve.Handler; necessary behind a reverse proxy

	Limits checksum.Limits // Package is the maximum size of a streamed archive in bytes

	TempDir string // for archives of range requests, and packages of ModuleOptions; if empty, [os.TempDir]

	// Logger and Access are as in mirrorserve.Handler.
	Logger *slog.Logger
	Access func(context.Context, access.Entry)

	once      sync.Once
	mux       *http.ServeMux
	server    *webserve.Server
	providers *keptEvidence
	packages  recent[*provider.Package]
	locations recent[*module.Location]
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
	h.handle("/.well-known/terraform.json", access.Discovery, h.answerJSON(h.discovery))
	if h.Providers != nil {
		h.providers = keepEvidence(h.Providers)
		h.packages.setup()
		const pkg = providersPath + "{namespace}/{type}/{version}/download/{os}/{arch}"
		h.handle(providersPath+"{namespace}/{type}/versions", access.Versions, h.answerJSON(h.providerVersions))
		h.handle(pkg, access.Package, h.answerJSON(h.providerPackage))
		h.handle(pkg+"/"+sumsName, access.Sums, h.answer("text/plain; charset=utf-8", h.file(func(ev verify.Evidence) []byte { return ev.Sums })))
		h.handle(pkg+"/"+signatureName, access.Signature, h.answer("application/octet-stream", h.file(func(ev verify.Evidence) []byte { return ev.Signature })))
		h.handle(pkg+"/"+archiveName, access.Archive, h.limited(h.archive))
	}
	if h.Modules != nil {
		h.locations.setup()
		const mod = modulesPath + "{namespace}/{name}/{system}/"
		h.handle(mod+"versions", access.ModuleVersions, h.answerJSON(h.moduleVersions))
		h.handle(mod+"{version}/download", access.ModuleLocation, h.moduleLocation)
		h.handle(mod+"{version}/"+packageName, access.Module, h.limited(h.modulePackage))
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { h.server.Fail(w, r, webserve.ErrPath) })
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(h.setup)
	h.server.Serve(w, r, func(w http.ResponseWriter, r *http.Request) error {
		h.mux.ServeHTTP(w, r)
		return nil
	})
}

// handle registers the sender of a path. The URLs of files may be signed instead of a token, and discovery needs neither.
func (h *Handler) handle(path string, kind access.Kind, send sender) {
	h.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		signed := ""
		switch kind {
		case access.Sums, access.Signature, access.Archive, access.Module:
			signed = r.URL.Path
		}
		if kind != access.Discovery {
			answer, ok := h.server.Guard.Allow(w, r, signed)
			if !ok {
				return
			}
			r.SetPathValue(answerValue, answer)
		}
		of, err := h.requested(r, kind)
		if err == nil {
			webserve.About(w, of)
			err = send(w, r, of)
		}
		if err != nil {
			h.server.Fail(w, r, err)
		}
	})
}

// requested returns what a request is about. Names in its path must be canonical, so that each document has one URL.
func (h *Handler) requested(r *http.Request, kind access.Kind) (of access.Entry, err error) {
	of.Kind = kind
	parse := addrs.ParseVersion
	switch kind {
	case access.Discovery:
	case access.ModuleVersions, access.ModuleLocation, access.Module:
		parse = addrs.ParseModuleVersion
		of.Module, err = h.module(r)
	default:
		of.Provider, err = h.provider(r)
	}
	if text := r.PathValue("version"); err == nil && text != "" {
		if of.Version, err = parse(text); of.Version.String() != text {
			err = webserve.ErrPath
		}
	}
	if os := r.PathValue("os"); err == nil && os != "" {
		of.Platform, err = addrs.ParsePlatform(os + "_" + r.PathValue("arch"))
	}
	if err != nil {
		return of, webserve.ErrPath
	}
	return of, nil
}

type (
	// sender sends what a request is about. It returns an error if it has sent nothing.
	sender func(http.ResponseWriter, *http.Request, access.Entry) error

	// finder finds a document.
	finder[T any] func(*http.Request, access.Entry) (T, error)
)

// limited returns a sender of an archive that waits for the share of the client.
func (h *Handler) limited(send sender) sender {
	return func(w http.ResponseWriter, r *http.Request, of access.Entry) error {
		leave, err := h.server.EnterArchive(r)
		if err != nil {
			return err
		}
		defer leave()
		return send(w, r, of)
	}
}

// answer returns a sender of a document.
func (h *Handler) answer(contentType string, find finder[[]byte]) sender {
	return func(w http.ResponseWriter, r *http.Request, of access.Entry) error {
		return h.server.Document(w, r, contentType, func(context.Context) ([]byte, error) { return find(r, of) })
	}
}

// answerJSON returns a sender of a JSON document.
func (h *Handler) answerJSON(find finder[any]) sender {
	return h.answer("application/json", func(r *http.Request, of access.Entry) ([]byte, error) {
		doc, err := find(r, of)
		if err != nil {
			return nil, err
		}
		return h.server.Encode(r.Context(), func() any { return doc }, "")
	})
}

// discovery returns the discovery document.
func (h *Handler) discovery(*http.Request, access.Entry) (any, error) {
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
