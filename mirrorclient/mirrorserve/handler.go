package mirrorserve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// Handler is an [http.Handler] for the network mirror protocol. Set the fields before the first
// request. After it a Handler must not be copied.
//
// It answers GET and HEAD requests for HOST/NAMESPACE/TYPE/index.json, for VERSION.json and for
// archives by their canonical names, with strong entity tags and single ranges. If the source does not
// have a package, the status is 404. After another failure of the source it is 502. Both come with a
// JSON object whose "errors" describe the failure without the URL of the source.
//
// If Source is a [mirrordir.Mirror], Handler serves its packages without Policy, since they were
// verified when they were added. Archives in an object store must have the recorded hashes. If Source is
// a [Cache], Handler uses the settings of the Cache instead of Policy, Parallel and TempDir. A type that
// embeds one of these is used like any other source.
//
// From any other source, Handler states the hashes that pass Policy, apart from Accept, and verifies each
// archive while it forwards it. The last byte is sent only if Policy accepts the archive; otherwise the connection is
// aborted. A range is sent after verification. Concurrent requests share one download, into a temporary
// file, of which there are at most four times Parallel. Nothing is cached. A client that reads nothing
// for five minutes is disconnected.
type Handler struct {
	// Source is the source of the packages. It must not be nil.
	Source provider.Source

	// Policy decides which packages are accepted. The zero Policy requires signed packages; if
	// Source is a mirror, set AllowUnsigned. If RecordStated is set, the documents also state
	// hashes that the source only states.
	Policy verify.Policy

	// Platforms are requested if Source does not list platforms. If empty, common platforms are
	// requested.
	Platforms []addrs.Platform

	// Parallel is the maximum number of concurrent downloads, and of other concurrent requests to
	// Source. If zero or less, 16 is used.
	Parallel int

	// TempDir is the directory for temporary files. If empty, [os.TempDir] is used.
	TempDir string

	// Logger, if not nil, logs failed requests: at level Warn if Source failed, at level Debug if
	// Source does not have the package.
	Logger *slog.Logger

	once      sync.Once
	puller    *puller
	catalogue catalogue
	documents flight.Group[documentKey, []byte]
}

// setup prepares the handler for the type of the source. A type that embeds one of these may override
// its methods, so it is used like any other source.
func (h *Handler) setup() {
	h.once.Do(func() {
		switch src := h.Source.(type) {
		case *mirrordir.Mirror:
			h.puller = newPuller(src, h.Parallel, tempStage(h.TempDir), mirrorOrigin(src, h.Policy.Limits))
			h.catalogue = src
		case *Cache:
			h.puller = src.setup()
			h.catalogue = &cacheCatalogue{src, &sourceCatalogue{h.puller, src.Policy, h.Platforms}}
		default:
			h.puller = newPuller(src, h.Parallel, tempStage(h.TempDir), origin{policy: h.Policy})
			h.catalogue = &sourceCatalogue{h.puller, h.Policy, h.Platforms}
		}
	})
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.setup()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "only GET and HEAD are supported")
		return
	}
	q, ok := parseRequest(r.URL)
	if !ok {
		writeError(w, http.StatusNotFound, "not the path of a document or an archive")
		return
	}
	var err error
	if q.archive {
		err = h.serveArchive(w, r, q)
	} else {
		err = h.serveDocument(w, r, q)
	}
	if err != nil {
		h.sendError(w, r, err)
	}
}

// sendError sends an error response.
func (h *Handler) sendError(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client has left
	}
	status, level := http.StatusBadGateway, slog.LevelWarn
	_, broken := errors.AsType[*inconsistentError](err)
	if !broken && (errors.Is(err, provider.ErrNotFound) || errors.Is(err, provider.ErrUnpacked)) {
		status, level = http.StatusNotFound, slog.LevelDebug
	}
	if h.Logger != nil {
		h.Logger.Log(r.Context(), level, "mirror request failed", "method", r.Method, "path", r.URL.Path, "status", status, "error", err)
	}
	writeError(w, status, describe(err))
}

// describe returns the error text for clients, without the location of the source.
func describe(err error) string {
	e, ok := errors.AsType[*provider.Error](err)
	if !ok {
		return "the mirror failed to answer"
	}
	text := e.Op + " " + e.Subject
	for _, kind := range []error{
		provider.ErrNoPlatform, provider.ErrNoVersion, provider.ErrNotFound, provider.ErrUnauthorized,
		provider.ErrTooLarge, provider.ErrInsecure, provider.ErrUnpacked, verify.ErrUnsigned, verify.ErrUnchecked,
	} {
		if errors.Is(err, kind) {
			return text + ": " + kind.Error()
		}
	}
	return text + ": the source failed"
}

func writeError(w http.ResponseWriter, status int, text string) {
	body, _ := json.Marshal(map[string][]string{"errors": {text}}) // cannot fail
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	io.Copy(w, bytes.NewReader(body)) // an error means that the client has left
}
