package httpx

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// validator is what tells two versions of a file apart.
type validator struct {
	etag     string // as sent
	modified string // as sent
	ifRange  string // what may stand in If-Range; "": nothing
}

// newValidator reads the validator of an answer that came at now. In If-Range a
// strong entity tag may stand, or else a date of last modification that is at
// least a second older than the answer: a younger one might belong to two
// versions (RFC 9110, sections 8.8.2.2 and 13.1.5).
func newValidator(h http.Header, now time.Time) validator {
	v := validator{etag: h.Get("ETag"), modified: h.Get("Last-Modified")}
	if v.etag != "" {
		if strings.HasPrefix(v.etag, `"`) {
			v.ifRange = v.etag
		}
		return v
	}
	modified, err := http.ParseTime(v.modified)
	if err != nil {
		return v
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	if now.Sub(modified) >= time.Second {
		v.ifRange = v.modified
	}
	return v
}

// differs reports whether v and w certainly belong to different versions.
func (v validator) differs(w validator) bool {
	if v.etag != "" && w.etag != "" {
		return strings.TrimPrefix(v.etag, "W/") != strings.TrimPrefix(w.etag, "W/")
	}
	return v.modified != "" && w.modified != "" && v.modified != w.modified
}

// contentRange is the header of that name: bytes first to last of total, or
// that none of total could be sent (first is -1). A total of -1 is unknown.
type contentRange struct{ first, last, total int64 }

// parseContentRange reads "bytes 5-9/10", "bytes 5-9/*" and "bytes */10".
func parseContentRange(s string) (r contentRange, ok bool) {
	unit, s, _ := strings.Cut(strings.TrimSpace(s), " ")
	span, total, found := strings.Cut(strings.TrimSpace(s), "/")
	if !strings.EqualFold(unit, "bytes") || !found {
		return r, false
	}
	r = contentRange{-1, -1, -1}
	if total != "*" {
		if r.total, ok = parseOffset(total); !ok {
			return r, false
		}
	}
	if span == "*" {
		return r, r.total >= 0
	}
	first, last, _ := strings.Cut(span, "-")
	var ok1, ok2 bool
	r.first, ok1 = parseOffset(first)
	r.last, ok2 = parseOffset(last)
	return r, ok1 && ok2 && r.first <= r.last && (r.total < 0 || r.last < r.total)
}

// parseOffset reads a number that is written in digits only.
func parseOffset(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil
}
