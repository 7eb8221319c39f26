package regserve

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// guarded is next for the requests that Authorize accepts.
func (h *Handler) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.Authorize == nil {
			next.ServeHTTP(w, r)
			return
		}
		// What is for one user must not be kept for others.
		w.Header().Set("Cache-Control", "private")
		w.Header().Set("Vary", "Authorization")
		if err := h.Authorize(r); err != nil {
			w.Header().Set("Www-Authenticate", "Bearer")
			writeError(w, http.StatusUnauthorized, "the request is not authorized")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// signed is next for requests whose URL has been signed, and for those that Authorize
// accepts.
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

// urlPeriod is how long a URL stays the same; it is valid until the end of the next period.
const urlPeriod = time.Hour

// fileURL returns the URL of a file at path, signed if requests are authorized.
func (h *Handler) fileURL(r *http.Request, path string) string {
	u := h.base(r, (&url.URL{Path: path}).EscapedPath())
	if h.Authorize == nil {
		return u
	}
	until := strconv.FormatInt(time.Now().Truncate(urlPeriod).Add(2*urlPeriod).Unix(), 10)
	return u + "?" + url.Values{"until": {until}, "signature": {h.mac(path, until)}}.Encode()
}

// validURL reports whether h has signed u, and the time of u has not passed.
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
