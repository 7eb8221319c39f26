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

// Handler is an [http.Handler] that serves the network mirror protocol for the packages of
// any source: a [mirrordir.Mirror], a [Cache], or a registry or another mirror that is pulled through.
// Set the fields before the first request; after it a Handler must not be copied.
//
//	http.Handle("/providers/", http.StripPrefix("/providers", &mirrorserve.Handler{Source: mirror}))
//
// It answers GET and HEAD for HOST/NAMESPACE/TYPE/index.json, VERSION.json and archives by
// their canonical names. Other files of a directory are not served. The host may be in its
// ASCII or its Unicode form.
//
// Answers have strong entity tags. An archive has one only if the source states one zh, since
// an h1 does not tell archives apart. A request for one range gets that range, a request for
// several ranges gets the whole archive. If the source does not have a package, the status is
// 404, and after any other failure of the source 502. Both come with a JSON object whose
// "errors" say what happened, without the URL of the source.
//
// # Pulling through
//
// The clients of a mirror cannot verify signatures, so the Handler does: it states the hashes
// that Policy accepts, and serves only archives that Policy accepts. An archive is passed on
// while it arrives, but its last byte is held back until the archive has been judged. If the
// archive is refused, the connection breaks off. A range waits for the verdict.
//
// Requests for the same thing at the same time share one request to the source, and an archive
// that many clients ask for is transferred once. Nothing is kept unless the source is a
// [Cache]. Then Policy, Parallel and TempDir of the Handler have no effect: those of the Cache
// and of its Mirror count.
//
// An archive that is passed on lies in a temporary file until its last client has it. There are
// at most four times Parallel such files. A client that reads nothing for five minutes is
// disconnected.
//
// Clients decide what the source is asked for. A registry client contacts any host that a
// client names: limit the providers with the patterns of a [provider.Multi], or the hosts with
// VetoHost of the client.
//
// The packages of a Mirror were judged when they were added. They are served as its documents
// state them, and Policy is ignored; an archive in an object store must still have the hashes
// on record. This holds only for a *Mirror: a type that embeds one, to refuse some requests,
// is pulled through by its own methods like any other source.
type Handler struct {
	// Source is what is served. It must not be nil.
	Source provider.Source

	// Policy is what a package must satisfy that is pulled through. The zero Policy
	// wants signed packages; if the source is a mirror, set AllowUnsigned. With
	// RecordStated the documents also state hashes that the source merely states.
	Policy verify.Policy

	// Platforms are those that are looked for if the source does not list any. If empty,
	// those that providers are commonly built for are used.
	Platforms []addrs.Platform

	// Parallel is the maximum number of archives that arrive at the same time, and of
	// other requests to the source. If it is zero or less, 16 is used for each.
	Parallel int

	// TempDir is the directory of archives that are pulled through. If empty, that of
	// [os.TempDir] is used.
	TempDir string

	// Logger, if not nil, logs requests that failed: at the level Warn if the source
	// failed, at Debug if it does not have what a client asked for.
	Logger *slog.Logger

	once      sync.Once
	puller    *puller
	catalogue catalogue
	documents flight.Group[documentKey, []byte]
}

// setup looks at what the source is. Only these types themselves count: one that embeds them
// may have been made to answer otherwise, and by other methods than it would be asked here.
func (h *Handler) setup() {
	h.once.Do(func() {
		switch src := h.Source.(type) {
		case *mirrordir.Mirror:
			h.puller = newPuller(src, h.Parallel, inTemp(h.TempDir), asIsIn(src, h.Policy.Limits))
			h.catalogue = src
		case *Cache:
			h.puller = src.setup()
			h.catalogue = &cached{src, &through{h.puller, src.Policy, h.Platforms}}
		default:
			h.puller = newPuller(src, h.Parallel, inTemp(h.TempDir), origin{policy: h.Policy})
			h.catalogue = &through{h.puller, h.Policy, h.Platforms}
		}
	})
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.setup()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "a mirror can only be read")
		return
	}
	q, ok := parseRequest(r.URL)
	if !ok {
		writeError(w, http.StatusNotFound, "this is no address of a mirror's document or archive")
		return
	}
	var err error
	if q.archive {
		err = h.serveArchive(w, r, q)
	} else {
		err = h.serveDocument(w, r, q)
	}
	if err != nil {
		h.fail(w, r, err)
	}
}

// fail answers a request that cannot be answered as asked.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody waits for an answer
	}
	status, level := http.StatusBadGateway, slog.LevelWarn
	_, broken := errors.AsType[*brokenPromise](err)
	if !broken && (errors.Is(err, provider.ErrNotFound) || errors.Is(err, provider.ErrUnpacked)) {
		status, level = http.StatusNotFound, slog.LevelDebug
	}
	if h.Logger != nil {
		h.Logger.Log(r.Context(), level, "mirror request failed", "method", r.Method, "path", r.URL.Path, "status", status, "error", err)
	}
	writeError(w, status, describe(err))
}

// describe says what is wrong for those who ask the mirror. Where the source is, is not
// their business.
func describe(err error) string {
	e, ok := errors.AsType[*provider.Error](err)
	if !ok {
		return "the mirror cannot answer this"
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
	return text + ": the source did not give a usable answer"
}

func writeError(w http.ResponseWriter, status int, text string) {
	body, _ := json.Marshal(map[string][]string{"errors": {text}}) // of text, it cannot fail
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	io.Copy(w, bytes.NewReader(body)) // if it fails, nobody listens
}
