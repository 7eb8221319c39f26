package webserve

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tofureg/tofureg/provider"
)

// Guard decides which requests are answered. Clients send no token for archives, so their URLs are
// signed. Create it with NewGuard.
type Guard struct {
	authorize func(*http.Request) error
	secret    []byte
}

// NewGuard returns a Guard. The fields Authorize and Secret of handlers describe the arguments.
func NewGuard(authorize func(*http.Request) error, secret []byte) *Guard {
	if len(secret) == 0 {
		secret = make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
	}
	return &Guard{authorize, secret}
}

// Required reports whether requests need a token or a signature.
func (g *Guard) Required() bool { return g.authorize != nil }

// Allow reports whether a request may be answered; if not, it has sent status 401. A query that
// [Guard.Query] has signed for name replaces a token, unless name is empty. Then Allow returns the
// answer for which the query was signed.
func (g *Guard) Allow(w http.ResponseWriter, r *http.Request, name string) (answer string, ok bool) {
	if g.authorize == nil {
		return "", true
	}
	w.Header().Set("Cache-Control", "private") // caches must not serve the answer to other users
	if name != "" {
		if query := r.URL.Query(); g.isSigned(query, name) {
			return query.Get("answer"), true
		}
	}
	w.Header().Set("Vary", "Authorization")
	if g.authorize(r) == nil {
		return "", true
	}
	w.Header().Set("Www-Authenticate", "Bearer")
	WriteError(w, http.StatusUnauthorized, "the request is not authorized")
	return "", false
}

// signedFor is how long a signed query stays the same. It is valid until the end of the next period.
const signedFor = time.Hour

// Query returns a query that is signed for a name, with its question mark, or "" if all requests are
// answered. If answer is not empty, it identifies the answer that lists the URL.
func (g *Guard) Query(name, answer string) string {
	if g.authorize == nil {
		return ""
	}
	until := strconv.FormatInt(time.Now().Truncate(signedFor).Add(2*signedFor).Unix(), 10)
	query := url.Values{"until": {until}, "signature": {g.mac(name, answer, until)}}
	if answer != "" {
		query.Set("answer", answer)
	}
	return "?" + query.Encode()
}

func (g *Guard) isSigned(query url.Values, name string) bool {
	until, err := strconv.ParseInt(query.Get("until"), 10, 64)
	answer := query.Get("answer")
	return err == nil && time.Now().Unix() <= until &&
		hmac.Equal([]byte(query.Get("signature")), []byte(g.mac(name, answer, query.Get("until"))))
}

func (g *Guard) mac(name, answer, until string) string {
	m := hmac.New(sha256.New, g.secret)
	_, _ = fmt.Fprintf(m, "%s %q %q", until, answer, name) // never fails
	return hex.EncodeToString(m.Sum(nil))
}

// Redirect sends a client to the URL that archive returns for pkg. It reports whether there is one. HEAD is
// not redirected: the URL may be signed for GET only, and the CLIs send HEAD first.
func Redirect(w http.ResponseWriter, r *http.Request, archive func(context.Context, *provider.Package) (string, error), pkg *provider.Package) (done bool, err error) {
	if archive == nil || r.Method == http.MethodHead {
		return false, nil
	}
	location, err := archive(r.Context(), pkg)
	if err != nil {
		return false, fmt.Errorf("redirect to the archive of %s: %w", pkg, err)
	}
	if location != "" {
		http.Redirect(w, r, location, http.StatusFound)
	}
	return location != "", nil
}
