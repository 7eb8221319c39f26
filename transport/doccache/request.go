package doccache

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// asksForDocument reports whether a request may be one for a document. The others are
// passed on untouched.
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
	// The clients of this module ask so for packages, which must come as they are.
	if strings.EqualFold(strings.TrimSpace(req.Header.Get("Accept-Encoding")), "identity") {
		return false
	}
	return !parseDirectives(req.Header).noStore
}

// ownConditions are headers of a request whose answer is only for the one who asks.
var ownConditions = []string{
	"Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Upgrade",
}

// archiveSuffixes end the paths of packages, for which there are better places.
var archiveSuffixes = []string{".zip", ".tar", ".gz", ".tgz", ".xz", ".txz", ".bz2", ".tbz2", ".zst", ".exe"}

// harmlessParameters page through lists, or choose a part of a repository. Any other may
// be what authorises the request, and is different the next time.
var harmlessParameters = []string{
	"limit", "offset", "page", "per_page", "page_size", "cursor", "after",
	"terraform-get", "archive", "checksum", "depth", "filename", "ref",
}

func harmlessQuery(query string) bool {
	if query == "" {
		return true
	}
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

// changes reports whether a method may change what is at a URL.
func changes(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return false
	}
	return true
}

// commonHeaders are the headers of a request that have no influence on which document
// comes, unless the server says so in Vary. Every other one may be a credential.
var commonHeaders = []string{
	"User-Agent", "Cache-Control", "Pragma", "Connection", "Referer",
	"Traceparent", "Tracestate", "Baggage", "X-Request-Id", "X-Correlation-Id",
}

// identity writes down who asks and in what form the answer is wanted: credentials, and
// all that might be one.
func identity(req *http.Request) []string {
	list := []string{req.URL.User.String()}
	names := make([]string, 0, len(req.Header))
	for name := range req.Header {
		if !slices.Contains(commonHeaders, http.CanonicalHeaderKey(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range req.Header[name] {
			list = append(list, name, value) // in pairs, so that no value passes for a name
		}
	}
	return list
}

// target writes down what is asked for, as it is sent.
func target(req *http.Request) []string {
	u := req.URL
	named := req.Host
	if named == "" {
		named = u.Host
	}
	return []string{plainHost(u.Host), plainHost(named), u.RequestURI()}
}

// plainHost returns the host of an https URL in the form that all its spellings have.
func plainHost(host string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(host), ":443"), ":")
}
