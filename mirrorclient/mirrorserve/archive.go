package mirrorserve

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

func (h *Handler) serveArchive(w http.ResponseWriter, r *http.Request, q request) error {
	pkg, err := h.puller.findPackage(r.Context(), q)
	if err != nil {
		return err
	}
	tag := tagOf(pkg)
	if tag != "" && hasTag(r.Header.Values("If-None-Match"), tag) {
		w.Header().Set("Etag", tag)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if r.Method == http.MethodHead {
		// The CLI sends HEAD before each download. If the source does not state the size, omit
		// it: a download only for the size would fetch the archive twice.
		setArchiveHeader(w, tag)
		w.Header().Set("Accept-Ranges", "bytes")
		if pkg.Size > 0 {
			w.Header().Set("Content-Length", strconv.FormatInt(pkg.Size, 10))
		}
		w.WriteHeader(http.StatusOK)
		return nil
	}
	body := h.puller.read(r.Context(), q, pkg)
	defer body.leave()
	body.stalled = func() { http.NewResponseController(w).SetWriteDeadline(time.Now()) }
	// A client does not verify ranges, so they wait for the verification.
	if err := body.begin(r.Header.Get("Range") != ""); err != nil {
		return err
	}
	setArchiveHeader(w, tag)
	http.ServeContent(w, oneRange(r), "", time.Time{}, body)
	if body.err != nil {
		if h.Logger != nil && r.Context().Err() == nil {
			h.Logger.WarnContext(r.Context(), "mirror transfer aborted", "path", r.URL.Path, "error", body.err)
		}
		// The status has been sent. Abort the connection, so that the client notices.
		panic(http.ErrAbortHandler)
	}
	if c, ok := h.Source.(*Cache); ok {
		http.NewResponseController(w).Flush() // an error means that the client has left
		c.waitUntilStored(body)
	}
	return nil
}

// oneRange returns r without its Range header if that requests several ranges. For these ServeContent
// starts a goroutine that may run on after the client has left.
func oneRange(r *http.Request) *http.Request {
	if strings.Contains(r.Header.Get("Range"), ",") {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	return r
}

func setArchiveHeader(w http.ResponseWriter, tag string) {
	w.Header().Set("Content-Type", "application/zip")
	if tag != "" {
		w.Header().Set("Etag", tag)
	}
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

// hasTag reports whether one of the lists contains the entity tag.
func hasTag(lists []string, tag string) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}
