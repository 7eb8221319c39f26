package doccache

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// asksForDocument reports whether a request may be for a document.
func asksForDocument(req *http.Request) bool {
	switch {
	case req.Method != http.MethodGet && req.Method != "",
		req.URL == nil || req.URL.Scheme != "https" || req.URL.Opaque != "",
		req.Body != nil && req.Body != http.NoBody,
		!harmlessQuery(req.URL.RawQuery),
		slices.Contains(archiveSuffixes, strings.ToLower(path.Ext(req.URL.Path))):
		return false
	}
	for _, name := range ownConditions {
		if len(req.Header[name]) > 0 {
			return false
		}
	}
	// The clients of this module request archives with this header.
	return !strings.EqualFold(strings.TrimSpace(req.Header.Get("Accept-Encoding")), "identity")
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
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	// Quotes and lists make the hashed text unambiguous.
	fmt.Fprintf(h, "%q %q %q %q\n", plainHost(req.URL.Host), plainHost(host), req.URL.RequestURI(), req.URL.User.String())
	names := make([]string, 0, len(req.Header))
	for name := range req.Header {
		names = append(names, name)
	}
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
