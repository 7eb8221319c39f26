package doccache

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// maxDocument is the most bytes that a document in the cache has: that of the
	// largest one that the clients read.
	maxDocument = 16 << 20
	// maxHeader bounds the headers that are kept, maxVary the names in a Vary header.
	maxHeader = 32 << 10
	maxVary   = 16
)

// keptHeaders are those of an answer that are kept; the others are between this client
// and that server.
var keptHeaders = []string{
	"Age", "Cache-Control", "Content-Language", "Content-Type", "Date", "Etag", "Expires",
	"Last-Modified", "Location", "Pragma", "Vary", "X-Terraform-Get",
}

// newEntry returns what may be kept of an answer, as yet without its body; nil if nothing
// may be (section 3).
func newEntry(resp *http.Response, requested, received time.Time) *entry {
	e := &entry{status: resp.StatusCode, header: kept(resp.Header), requested: requested, received: received}
	e.control = parseDirectives(e.header)
	switch {
	case e.control.noStore, !keepable(e.header), resp.Header.Get("Content-Range") != "":
		return nil
	case !acceptableVary(varyNames(e.header)):
		return nil
	}
	switch resp.StatusCode {
	case http.StatusOK:
		if !isDocument(resp) || !measurable(resp) || resp.ContentLength > maxDocument {
			return nil
		}
	case http.StatusNoContent:
		if e.header.Get("X-Terraform-Get") == "" {
			return nil // who asks for a document cannot use nothing
		}
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if !harmlessLocation(resp) {
			return nil
		}
	default:
		return nil
	}
	if get := e.header.Get("X-Terraform-Get"); authorises(get) {
		return nil
	}
	return e
}

// hasBody reports whether the body of an answer with this status is of interest.
func hasBody(status int) bool { return status == http.StatusOK }

func kept(h http.Header) http.Header {
	list := make(http.Header, len(keptHeaders))
	for _, name := range keptHeaders {
		if v := h[name]; len(v) > 0 {
			list[name] = slices.Clone(v)
		}
	}
	return list
}

// keepable reports whether headers can be written down as they are: JSON has only text.
func keepable(h http.Header) bool {
	n := 0
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v)
			if !utf8.ValidString(v) {
				return false
			}
		}
	}
	return n <= maxHeader
}

// isDocument tells documents from packages: by the media type, and where that says
// nothing, as at many file stores, by the name.
func isDocument(resp *http.Response) bool {
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return false // the caller has asked for it, and unpacks it
	}
	switch mediaType := mediaType(resp.Header); {
	case isJSON(mediaType), strings.HasPrefix(mediaType, "text/"):
		return true
	case mediaType == "", mediaType == "application/octet-stream", mediaType == "binary/octet-stream",
		mediaType == "application/pgp-signature":
		name := path.Base(resp.Request.URL.Path)
		return strings.HasSuffix(name, "SHA256SUMS") || strings.HasSuffix(name, ".sig") ||
			strings.HasSuffix(name, ".asc") || strings.HasSuffix(name, ".json")
	}
	return false
}

func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return strings.ToLower(strings.TrimSpace(h.Get("Content-Type")))
	}
	return t
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

// harmlessLocation reports whether a redirect may be kept: one to a URL that authorises
// by itself leads nowhere a little later.
func harmlessLocation(resp *http.Response) bool {
	ref := resp.Header.Get("Location")
	if ref == "" {
		return false
	}
	to, err := resp.Request.URL.Parse(ref)
	return err == nil && to.Scheme == "https" && (to.User == nil || resp.Request.URL.User != nil) && harmlessQuery(to.RawQuery)
}

// authorises reports whether the location of a module may have a secret in it. It need
// not be a URL.
func authorises(location string) bool {
	if holdsPass([]byte(location)) {
		return true
	}
	_, rest, ok := strings.Cut(location, "://")
	if !ok {
		return false
	}
	_, query, _ := strings.Cut(rest, "?")
	query, _, _ = strings.Cut(query, "#")
	return !harmlessQuery(query)
}

// password finds a URL with a password, also one in JSON that escapes the slashes.
var password = regexp.MustCompile(`:\\?/\\?/[^/?#"\\\s:@]*:[^/?#"\\\s@]*@`)

// passes mark the URLs in a document that authorise by themselves. Such a document is of
// no use when it is read the next time.
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

// varyNames are the names in the Vary headers, canonical and sorted.
func varyNames(h http.Header) (names []string) {
	for _, line := range h["Vary"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, http.CanonicalHeaderKey(name))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func acceptableVary(names []string) bool {
	return len(names) <= maxVary && !slices.Contains(names, "*")
}
