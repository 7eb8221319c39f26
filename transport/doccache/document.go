package doccache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tofureg/tofureg/internal/httpx"
)

// asksForDocument reports whether a request may be for a document.
func asksForDocument(req *http.Request) bool {
	return !httpx.IsForPackage(req.Context()) &&
		(req.Method == http.MethodGet || req.Method == "") &&
		req.URL != nil && req.URL.Scheme == "https" && req.URL.Opaque == "" &&
		(req.Body == nil || req.Body == http.NoBody) &&
		harmlessQuery(req.URL.RawQuery) &&
		!slices.Contains(archiveSuffixes, strings.ToLower(path.Ext(req.URL.Path))) &&
		!slices.ContainsFunc(ownConditions, func(name string) bool { return len(req.Header[name]) > 0 })
}

// ownConditions are headers of requests that only the server can answer.
var ownConditions = []string{
	"Cache-Control", "Pragma", "Upgrade",
	"Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since",
}

// archiveSuffixes are the file name extensions of archives.
var archiveSuffixes = []string{".zip", ".tar", ".gz", ".tgz", ".xz", ".txz", ".bz2", ".tbz2", ".zst", ".exe"}

// harmlessParameters select a page of a list or a part of a repository. Any other parameter may
// authorise the request.
var harmlessParameters = []string{
	"limit", "offset", "page", "per_page", "page_size", "cursor", "after",
	"terraform-get", "archive", "checksum", "depth", "filename", "ref",
}

func harmlessQuery(query string) bool {
	values, err := url.ParseQuery(query)
	if err != nil {
		return false
	}
	for name := range values {
		if !slices.Contains(harmlessParameters, name) {
			return false
		}
	}
	return true
}

// changingHeaders differ between requests for the same document. Any other header may be a
// credential or select a variant of the document.
var changingHeaders = []string{
	"Connection", "Referer", "Traceparent", "Tracestate", "Baggage", "X-Request-Id", "X-Correlation-Id",
}

// entryName returns a hash of URL, host and headers, so that requests with different
// credentials never share an entry.
func entryName(req *http.Request) string {
	h := sha256.New()
	// Quotes and lists make the hashed text unambiguous.
	fmt.Fprintf(h, "%q %q %q %q\n", plainHost(req.URL.Host), plainHost(cmp.Or(req.Host, req.URL.Host)), req.URL.RequestURI(), req.URL.User.String())
	names := slices.AppendSeq(make([]string, 0, len(req.Header)), maps.Keys(req.Header))
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(changingHeaders, http.CanonicalHeaderKey(name)) && len(req.Header[name]) > 0 {
			fmt.Fprintf(h, "%q %q\n", name, req.Header[name])
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// plainHost returns the host of an https URL in canonical form.
func plainHost(host string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(host), ":443"), ":")
}

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
	t := mediaType(e.Header)
	if isJSON(t) && !json.Valid(e.body) {
		return false
	}
	if !isJSON(t) && !strings.HasPrefix(t, "text/") && !utf8.Valid(e.body) {
		return true // a signature, in which any bytes may occur
	}
	if t == "text/html" && !bytes.Contains(e.body, []byte("terraform-get")) {
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

// parameter matches the name of a parameter of a URL in JSON, in HTML and in text. In JSON "?", "&" and "="
// may be escaped.
var parameter = regexp.MustCompile(`(?:[?&;]|(?i:\\u0026|\\u003f))([^\s"'<>=?&;#\\]+)(?:=|(?i:\\u003d))`)

// containsSecret reports whether a document contains a password, or the URL of another query than a
// harmless one, which may be signed.
func containsSecret(body []byte) bool {
	if !bytes.ContainsAny(body, `=@\`) { // most documents; expressions are slow
		return false
	}
	for _, m := range parameter.FindAllSubmatch(body, -1) {
		if name, err := url.QueryUnescape(string(m[1])); err != nil || !slices.Contains(harmlessParameters, name) {
			return true
		}
	}
	return password.Match(body)
}
