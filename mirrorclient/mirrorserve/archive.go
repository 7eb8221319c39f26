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
	pkg, err := h.puller.find(r.Context(), q)
	if err != nil {
		return err
	}
	tag := tagOf(pkg)
	if tag != "" && has(r.Header.Values("If-None-Match"), tag) {
		w.Header().Set("Etag", tag)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if r.Method == http.MethodHead {
		// The CLI asks this before each archive. To tell a size that the source does not
		// state would be to fetch the archive twice.
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
	// What a client puts together from ranges it does not judge; a whole body breaks off.
	if err := body.begin(r.Header.Get("Range") != ""); err != nil {
		return err
	}
	setArchiveHeader(w, tag)
	http.ServeContent(w, oneRange(r), "", time.Time{}, body)
	if body.err != nil {
		if h.Logger != nil && r.Context().Err() == nil {
			h.Logger.WarnContext(r.Context(), "mirror transfer broken off", "path", r.URL.Path, "error", body.err)
		}
		// The status has been sent. Only a broken connection tells the client that
		// what it has is not the archive.
		panic(http.ErrAbortHandler)
	}
	if c, ok := h.Source.(*Cache); ok {
		http.NewResponseController(w).Flush() // if it fails, nobody listens
		c.settle(body)
	}
	return nil
}

// oneRange returns r, but asking for the whole if it asks for several ranges: ServeContent has
// a goroutine read these, and does not wait for its end if the client leaves.
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

// tagOf returns a strong entity tag, or "" if nothing is stated that tells one archive from
// another. An h1 does not: it is that of the content.
func tagOf(pkg *provider.Package) string {
	zh := checksum.WithScheme(pkg.Evidence().Hashes, checksum.SchemeZH)
	if len(zh) != 1 {
		return ""
	}
	return `"` + zh[0].Value() + `"`
}

// has reports whether one of the lists of entity tags has this one.
func has(lists []string, tag string) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}
