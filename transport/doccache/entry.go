package doccache

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tofureg/tofureg/internal/httpx"
)

// entry is a cached answer. Its file consists of two lines and the body: the SHA-256 of the
// rest in hexadecimal, and the exported fields as JSON.
type entry struct {
	Status    int         `json:"status"`
	Header    http.Header `json:"header"` // of keptHeaders
	Requested time.Time   `json:"requested"`
	Received  time.Time   `json:"received"`

	body []byte
}

const (
	// maxDocument is the limit of the clients for a document.
	maxDocument = 16 << 20
	maxHead     = 64 << 10 // the line of JSON
	maxFile     = 2*sha256.Size + 1 + maxHead + maxDocument
)

var (
	errDamaged  = errors.New("damaged file")
	errTooLarge = errors.New("document exceeds the limit of the cache")
)

// encode returns the file of e.
func (e *entry) encode() ([]byte, error) {
	head, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	if head = append(head, '\n'); len(head) > maxHead || len(e.body) > maxDocument {
		return nil, errTooLarge
	}
	h := sha256.New()
	h.Write(head)
	h.Write(e.body)
	return append(fmt.Appendf(nil, "%x\n%s", h.Sum(nil), head), e.body...), nil
}

// decode parses the file of an entry. The entry refers to file.
func decode(file []byte) (*entry, error) {
	sum, rest, _ := bytes.Cut(file, []byte("\n"))
	if got := fmt.Sprintf("%x", sha256.Sum256(rest)); got != string(sum) {
		return nil, errDamaged
	}
	head, body, _ := bytes.Cut(rest, []byte("\n"))
	e := &entry{body: body}
	if err := json.Unmarshal(head, e); err != nil || e.Header == nil {
		return nil, errDamaged
	}
	return e, nil
}

// update sets headers from an answer with status 304 (RFC 9111, section 3.2). Headers that
// describe the body stay.
func (e *entry) update(h http.Header, requested time.Time) {
	e.Header = e.Header.Clone()
	e.Header.Del("Age")
	e.Header.Del("Date") // if the answer has none, the entry dates from now
	for _, name := range []string{"Age", "Cache-Control", "Date", "Etag", "Expires", "Last-Modified"} {
		if v := h[name]; len(v) > 0 && isText(v) {
			e.Header[name] = v
		}
	}
	e.Requested, e.Received = requested, time.Now()
}

// response returns e as the answer to req.
func (e *entry) response(req *http.Request, cacheStatus string) *http.Response {
	h := e.Header.Clone()
	if age := e.age(time.Now()); age != forever {
		h.Set("Age", strconv.FormatInt(int64(age/time.Second), 10))
	}
	h.Set("Cache-Status", httpx.CacheName+"; "+cacheStatus)
	resp := &http.Response{
		Status:     strconv.Itoa(e.Status) + " " + http.StatusText(e.Status),
		StatusCode: e.Status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: http.NoBody, Request: req,
	}
	if e.Status == http.StatusOK {
		h.Set("Content-Length", strconv.Itoa(len(e.body)))
		resp.ContentLength = int64(len(e.body))
		resp.Body = io.NopCloser(bytes.NewReader(e.body))
	}
	return resp
}

// maxFresh limits the times that a server can state: an attacker who controls it for an hour
// must not decide for a year.
const maxFresh = 24 * time.Hour

// forever is the age of an answer if the clock is wrong.
const forever = time.Duration(math.MaxInt64)

// directives are the members of Cache-Control for a private cache (RFC 9111, section 5.2,
// and RFC 5861).
type directives struct {
	noStore, noCache, mustRevalidate bool

	maxAge, staleIfError time.Duration // negative if missing
}

// parseDirectives splits at every comma, also within quotes, where it can only find more
// directives. The last of several values is used.
func parseDirectives(h http.Header) directives {
	d := directives{maxAge: -1, staleIfError: -1}
	for field := range strings.SplitSeq(strings.Join(h["Cache-Control"], ","), ",") {
		name, value, _ := strings.Cut(field, "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "no-store":
			d.noStore = true
		case "no-cache": // also with a list of fields
			d.noCache = true
		case "must-revalidate":
			d.mustRevalidate = true
		case "max-age":
			d.maxAge = seconds(value)
		case "stale-if-error":
			d.staleIfError = seconds(value)
		}
	}
	return d
}

// seconds parses a number of seconds. An invalid number is 0, a larger one 2^31 - 1 (RFC 9111,
// section 1.2.2).
func seconds(s string) time.Duration {
	n, _ := strconv.ParseUint(strings.Trim(s, "\" \t"), 10, 31)
	return time.Duration(n) * time.Second
}

func (e *entry) control() directives { return parseDirectives(e.Header) }

// lifetime is the time that the server has stated (RFC 9111, section 4.2.1).
func (e *entry) lifetime() time.Duration {
	d := e.control().maxAge
	if at, err := http.ParseTime(e.Header.Get("Expires")); d < 0 && err == nil {
		d = at.Sub(e.date())
	}
	return min(max(d, 0), maxFresh)
}

// date is the time at which the server made the answer.
func (e *entry) date() time.Time {
	if at, err := http.ParseTime(e.Header.Get("Date")); err == nil {
		return at
	}
	return e.Received
}

// age is the age of the answer (RFC 9111, section 4.2.3), or forever if the clock was set back.
func (e *entry) age(now time.Time) time.Duration {
	apparent := max(0, e.Received.Sub(e.date()))
	corrected := seconds(e.Header.Get("Age")) + max(0, e.Received.Sub(e.Requested))
	age := max(apparent, corrected) + now.Sub(e.Received)
	if now.Before(e.Received) || age < 0 { // overflow
		return forever
	}
	return age
}

// usable reports whether e may be used without a request (RFC 9111, section 4).
func (t *Transport) usable(e *entry, now time.Time) bool {
	age := e.age(now)
	if t.Refresh && !t.Offline || e.control().noCache || age == forever {
		return false
	}
	return age < e.lifetime() || now.Sub(e.Received) < t.freshFor(e)
}

// freshFor returns FreshFor, or 0 for a temporary redirect, which may lead to a maintenance page.
func (t *Transport) freshFor(e *entry) time.Duration {
	switch e.Status {
	case http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect:
		return 0
	}
	return t.FreshFor
}

// mayBeStale reports whether e may be used if the server does not answer (RFC 9111, section
// 4.2.4, and RFC 5861).
func (t *Transport) mayBeStale(e *entry, now time.Time) bool {
	if e == nil {
		return false
	}
	control, age := e.control(), e.age(now)
	if control.mustRevalidate || control.noCache || age == forever {
		return false
	}
	window := max(t.StaleIfError, min(control.staleIfError, maxFresh))
	return age-max(e.lifetime(), t.freshFor(e)) < window
}
