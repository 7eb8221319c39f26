package regserve

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tofureg/tofureg/internal/webserve"
)

// guarded calls next if Authorize accepts the request.
func (h *Handler) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.Authorize == nil {
			next.ServeHTTP(w, r)
			return
		}
		// Caches must not serve the answer to other users.
		w.Header().Set("Cache-Control", "private")
		w.Header().Set("Vary", "Authorization")
		if err := h.Authorize(r); err != nil {
			w.Header().Set("Www-Authenticate", "Bearer")
			webserve.WriteError(w, http.StatusUnauthorized, "the request is not authorized")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// signed calls next if the URL is signed or Authorize accepts the request.
func (h *Handler) signed(next http.Handler) http.Handler {
	guarded := h.guarded(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.Authorize != nil && h.validURL(r.URL) {
			w.Header().Set("Cache-Control", "private")
			next.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// urlPeriod is how long a signed URL stays the same. It is valid until the end of the next
// period.
const urlPeriod = time.Hour

// fileURL returns the URL of the file at path, signed if Authorize is set.
func (h *Handler) fileURL(r *http.Request, path string) string {
	u := h.base(r, (&url.URL{Path: path}).EscapedPath())
	if h.Authorize == nil {
		return u
	}
	until := strconv.FormatInt(time.Now().Truncate(urlPeriod).Add(2*urlPeriod).Unix(), 10)
	return u + "?" + url.Values{"until": {until}, "signature": {h.mac(path, until)}}.Encode()
}

// validURL reports whether u has a valid signature that has not expired.
func (h *Handler) validURL(u *url.URL) bool {
	query := u.Query()
	until, err := strconv.ParseInt(query.Get("until"), 10, 64)
	if err != nil || time.Now().Unix() > until {
		return false
	}
	return hmac.Equal([]byte(query.Get("signature")), []byte(h.mac(u.Path, query.Get("until"))))
}

func (h *Handler) mac(path, until string) string {
	m := hmac.New(sha256.New, h.secret)
	_, _ = m.Write([]byte(until + " " + path)) // never fails
	return hex.EncodeToString(m.Sum(nil))
}
