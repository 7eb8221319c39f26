package mirrorserve

import (
	"net/http"
	"time"

	"github.com/tofureg/tofureg/internal/webserve"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

func (h *Handler) serveArchive(w http.ResponseWriter, r *http.Request, q request) error {
	pkg, err := h.puller.findPackage(r.Context(), q)
	if err != nil {
		return err
	}
	if done, err := webserve.Redirect(w, r, h.Archive, pkg); done || err != nil {
		return err
	}
	if !h.local {
		leave, err := h.server.EnterArchive(r)
		if err != nil {
			return err
		}
		defer leave()
	}
	if webserve.ArchiveHeader(w, r, "application/zip", tagOf(pkg), pkg.Size) {
		return nil
	}
	body := h.puller.read(r.Context(), q, pkg)
	defer body.leave()
	// A client does not verify ranges, so they wait for the verification.
	if err := body.begin(r.Header.Get("Range") != ""); err != nil {
		return err
	}
	http.ServeContent(w, webserve.OneRange(r), "", time.Time{}, body)
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

// tagOf returns a strong entity tag, or "" if the package does not have exactly one zh. An h1 does not
// identify an archive.
func tagOf(pkg *provider.Package) string {
	zh := checksum.WithScheme(pkg.Evidence().Hashes, checksum.SchemeZH)
	if len(zh) != 1 {
		return ""
	}
	return `"` + zh[0].Value() + `"`
}
