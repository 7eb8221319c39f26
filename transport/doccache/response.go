package doccache

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// keptHeaders are the headers of an answer that are cached.
var keptHeaders = []string{
	"Age", "Cache-Control", "Content-Language", "Content-Type", "Date", "Etag", "Expires",
	"Last-Modified", "Location", "Vary", "X-Terraform-Get",
}

// newEntry returns an entry without its body, or nil if the answer must not be cached (RFC
// 9111, section 3).
func newEntry(resp *http.Response, requested time.Time) *entry {
	e := &entry{Status: resp.StatusCode, Header: http.Header{}, Requested: requested, Received: time.Now()}
	for _, name := range keptHeaders {
		if v := resp.Header[name]; len(v) > 0 {
			e.Header[name] = v
			if !isText(v) {
				return nil
			}
		}
	}
	if e.control().noStore || !coversVary(e.Header) || locationContainsSecret(e.Header.Get("X-Terraform-Get")) {
		return nil
	}
	switch resp.StatusCode {
	case http.StatusOK:
		if !isDocumentType(resp) || !hasEnd(resp) || resp.ContentLength > maxDocument {
			return nil
		}
	case http.StatusNoContent:
		if e.Header.Get("X-Terraform-Get") == "" {
			return nil
		}
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if !harmlessLocation(resp) {
			return nil
		}
	default:
		return nil
	}
	return e
}

// isText reports whether the values of a header can be stored as JSON.
func isText(values []string) bool {
	return !slices.ContainsFunc(values, func(s string) bool { return !utf8.ValidString(s) })
}

// coversVary reports whether the name of the entry includes all headers that Vary lists.
func coversVary(h http.Header) bool {
	for name := range strings.SplitSeq(strings.Join(h["Vary"], ","), ",") {
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		if name == "*" || slices.Contains(changingHeaders, name) {
			return false
		}
	}
	return true
}

// isDocumentType reports whether an answer is a document, by its media type or file name: many
// object stores send a generic type.
func isDocumentType(resp *http.Response) bool {
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return false // the caller decompresses it
	}
	t, name := mediaType(resp.Header), path.Base(resp.Request.URL.Path)
	return isJSON(t) || t == "text/plain" || t == "text/html" ||
		strings.HasSuffix(name, "SHA256SUMS") || slices.Contains([]string{".sig", ".asc", ".json"}, path.Ext(name))
}

func mediaType(h http.Header) string {
	t, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(t))
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// hasEnd reports whether a complete body can be told from an interrupted one.
func hasEnd(resp *http.Response) bool {
	return resp.ContentLength >= 0 || resp.Uncompressed || resp.ProtoMajor >= 2 ||
		slices.Contains(resp.TransferEncoding, "chunked")
}

// isDocument reports whether the body may be cached: it is of its media type and contains no
// secret.
func (e *entry) isDocument() bool {
	switch t := mediaType(e.Header); {
	case isJSON(t) && !json.Valid(e.body):
		return false
	case !isJSON(t) && !strings.HasPrefix(t, "text/") && !utf8.Valid(e.body):
		return true // a signature, in which any bytes may occur
	case t == "text/html" && !bytes.Contains(e.body, []byte("terraform-get")):
		return false // such as a login page; pages of modules contain it
	}
	return !containsSecret(e.body)
}

// harmlessLocation reports whether a redirect may be cached. A signed URL expires.
func harmlessLocation(resp *http.Response) bool {
	to, err := resp.Location()
	stored, _ := url.Parse(resp.Header.Get("Location")) // valid if to is
	return err == nil && stored.User == nil && to.Scheme == "https" && harmlessQuery(to.RawQuery)
}

// locationContainsSecret checks the location of a module, which is not always a URL.
func locationContainsSecret(location string) bool {
	_, query, _ := strings.Cut(location, "?")
	query, _, _ = strings.Cut(query, "#")
	return containsSecret([]byte(location)) || !harmlessQuery(query)
}

// password matches a URL with a password, or with a user over http, which may be a token. In JSON
// slashes may be escaped.
var password = regexp.MustCompile(`:\\?/\\?/[^/?#"\\\s:@]*:[^/?#"\\\s@]*@|(?i:https?):\\?/\\?/[^/?#"\\\s@]+@`)

// parameter matches the name of a parameter of a URL in JSON, in HTML and in text. A "&" may be
// escaped.
var parameter = regexp.MustCompile(`(?:[?&;]|(?i:\\u0026|\\u003f))([^\s"'<>=?&;#\\]+)=`)

// containsSecret reports whether a document contains a password, or the URL of another query than a
// harmless one, which may be signed.
func containsSecret(body []byte) bool {
	for _, m := range parameter.FindAllSubmatch(body, -1) {
		if name, err := url.QueryUnescape(string(m[1])); err != nil || !slices.Contains(harmlessParameters, name) {
			return true
		}
	}
	return password.Match(body)
}
