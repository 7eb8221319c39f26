package httpx

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// validator identifies a version of a file.
type validator struct {
	etag     string
	modified string
	ifRange  string // value of If-Range; may be empty
}

// newValidator returns the validator of an answer at the time now. If-Range is a strong entity tag, or
// a modification date at least a second before the answer: a later date may belong to two versions
// (RFC 9110, sections 8.8.2.2 and 13.1.5).
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

// differs reports whether v and w are validators of different versions.
func (v validator) differs(w validator) bool {
	if v.etag != "" && w.etag != "" {
		return strings.TrimPrefix(v.etag, "W/") != strings.TrimPrefix(w.etag, "W/")
	}
	return v.modified != "" && w.modified != "" && v.modified != w.modified
}

// contentRange is a Content-Range header. If first is -1, the range is not satisfiable. If total is
// -1, the size is unknown.
type contentRange struct{ first, last, total int64 }

var contentRangeForm = regexp.MustCompile(`^(?i:bytes) +(?:(\d+)-(\d+)|\*)/(\d+|\*)$`)

// parseContentRange parses "bytes 5-9/10", "bytes 5-9/*" and "bytes */10".
func parseContentRange(s string) (r contentRange, ok bool) {
	m := contentRangeForm.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return r, false
	}
	r = contentRange{-1, -1, -1}
	for i, field := range []*int64{&r.first, &r.last, &r.total} {
		n, err := strconv.ParseInt(m[i+1], 10, 64)
		if err == nil {
			*field = n
		} else if errors.Is(err, strconv.ErrRange) {
			return r, false
		}
	}
	if r.first < 0 {
		return r, r.total >= 0
	}
	return r, r.first <= r.last && (r.total < 0 || r.last < r.total)
}
