package doccache

import (
	"bytes"
	"encoding/json"
	"net/http"
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

// newEntry returns the entry for an answer without its body, or nil if the answer may not be
// cached (section 3).
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
	if e.control().noStore || !coversVary(e.Header) || authorises(e.Header.Get("X-Terraform-Get")) {
		return nil
	}
	switch resp.StatusCode {
	case http.StatusOK:
		if !namesDocument(resp) || !measurable(resp) || resp.ContentLength > maxDocument {
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

// isText reports whether the values of a header survive JSON.
func isText(values []string) bool { return !slices.ContainsFunc(values, invalid) }

func invalid(s string) bool { return !utf8.ValidString(s) }

// coversVary reports whether all headers that Vary names are a part of the name of the entry.
func coversVary(h http.Header) bool {
	for name := range strings.SplitSeq(strings.Join(h["Vary"], ","), ",") {
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		if name == "*" || slices.Contains(changingHeaders, name) {
			return false
		}
	}
	return true
}

// namesDocument tells documents from packages by the media type, and by the name: many file
// stores state a generic type.
func namesDocument(resp *http.Response) bool {
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return false // the caller has asked for it and unpacks it
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

// measurable reports whether the end of the body can be told from a connection that
// breaks.
func measurable(resp *http.Response) bool {
	return resp.ContentLength >= 0 || resp.Uncompressed || resp.ProtoMajor >= 2 ||
		slices.Contains(resp.TransferEncoding, "chunked")
}

// isDocument reports whether the body may be cached: it is what its media type says, and
// authorises nobody.
func (e *entry) isDocument() bool {
	switch t := mediaType(e.Header); {
	case isJSON(t) && !json.Valid(e.body):
		return false
	case t == "text/html" && !bytes.Contains(e.body, []byte("terraform-get")):
		return false // a login page, say; the pages of modules name it
	}
	return !holdsPass(e.body)
}

// harmlessLocation reports whether a redirect may be cached. A URL that authorises by itself
// is of no use later.
func harmlessLocation(resp *http.Response) bool {
	to, err := resp.Location()
	return err == nil && to.Scheme == "https" && (to.User == nil || resp.Request.URL.User != nil) && harmlessQuery(to.RawQuery)
}

// authorises reports whether the location of a module may have a secret in it. It need
// not be a URL.
func authorises(location string) bool {
	_, rest, isURL := strings.Cut(location, "://")
	_, query, _ := strings.Cut(rest, "?")
	query, _, _ = strings.Cut(query, "#")
	return holdsPass([]byte(location)) || isURL && !harmlessQuery(query)
}

// password finds a URL with a password, also one in JSON that escapes the slashes.
var password = regexp.MustCompile(`:\\?/\\?/[^/?#"\\\s:@]*:[^/?#"\\\s@]*@`)

// passes mark URLs that authorise by themselves. A document with such a URL is of no use
// later.
var passes = [][]byte{
	[]byte("ignature="), []byte("?sig="), []byte("&sig="), []byte("u0026sig="), []byte("access_token="),
	[]byte("private_token="), []byte("job_token="), []byte("__token__="), []byte("?token="), []byte("&token="),
	[]byte("u0026token="), []byte("?jwt="), []byte("&jwt="), []byte("u0026jwt="),
	[]byte("&amp;sig="), []byte("&amp;token="), []byte("&amp;jwt="), // in pages
	[]byte("sshkey="), []byte("aws_access_key_secret="), // in the locations of modules
}

func holdsPass(body []byte) bool {
	return slices.ContainsFunc(passes, func(mark []byte) bool { return bytes.Contains(body, mark) }) || password.Match(body)
}
