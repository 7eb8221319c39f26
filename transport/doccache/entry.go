package doccache

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// entry is an answer that is kept.
type entry struct {
	status              int
	header              http.Header // of those in keptHeaders
	vary                string      // what the headers that Vary names were, keyed; "": it names none
	requested, received time.Time
	body                []byte

	control directives // in header
}

// The form of a file: magic, the keyed sum of what follows and of the file's name, the
// length of the head in four bytes, the head as JSON, the body.
const (
	magic   = "tofudoc1"
	sumSize = 32
	fixed   = len(magic) + sumSize + 4
	maxHead = 2*maxHeader + 4<<10 // JSON may need an escape for every character
	maxFile = fixed + maxHead + maxDocument
)

// head is what the file says about the body.
type head struct {
	Status    int         `json:"status"`
	Header    http.Header `json:"header"`
	Vary      string      `json:"vary,omitempty"`
	Requested int64       `json:"requested"` // in nanoseconds since 1970
	Received  int64       `json:"received"`
	Size      int         `json:"size"` // of the body
}

// errDamaged: a file that is not of our making, or not as we made it.
var errDamaged = errors.New("damaged or foreign file")

// encode returns the file of e, with room for the sum.
func (e *entry) encode() ([]byte, error) {
	h, err := json.Marshal(head{
		Status: e.status, Header: e.header, Vary: e.vary, Size: len(e.body),
		Requested: e.requested.UnixNano(), Received: e.received.UnixNano(),
	})
	if err != nil {
		return nil, err
	}
	if len(h) > maxHead || len(e.body) > maxDocument {
		return nil, errNoRoom
	}
	file := make([]byte, fixed, fixed+len(h)+len(e.body))
	copy(file, magic)
	binary.BigEndian.PutUint32(file[fixed-4:], uint32(len(h)))
	return append(append(file, h...), e.body...), nil
}

// decode reads a file whose sum has been found right. It keeps file.
func decode(file []byte) (*entry, error) {
	if len(file) < fixed || string(file[:len(magic)]) != magic {
		return nil, errDamaged
	}
	size := binary.BigEndian.Uint32(file[fixed-4:])
	if size > maxHead || int(size) > len(file)-fixed {
		return nil, errDamaged
	}
	var h head
	if err := json.Unmarshal(file[fixed:fixed+int(size)], &h); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	body := file[fixed+int(size):]
	if h.Size != len(body) || len(body) > maxDocument || h.Status < 200 || h.Status > 399 {
		return nil, errDamaged
	}
	for name := range h.Header {
		if !slices.Contains(keptHeaders, name) {
			return nil, errDamaged
		}
	}
	if h.Header == nil {
		h.Header = http.Header{}
	}
	return &entry{
		status: h.Status, header: h.Header, vary: h.Vary, body: body,
		requested: time.Unix(0, h.Requested), received: time.Unix(0, h.Received),
		control: parseDirectives(h.Header),
	}, nil
}

// setBody completes an entry. It reports whether the body is an answer at all: one that is
// cut off, a login or an error page must not be the answer of the next hour.
func (e *entry) setBody(body []byte) bool {
	e.body = body
	switch t := mediaType(e.header); {
	case isJSON(t):
		return json.Valid(body)
	case t == "text/html": // the one kind of page that is wanted tells where a module is
		return bytes.Contains(body, []byte("terraform-get"))
	}
	return true
}

// sameAs reports whether an answer that says "not modified" can be about e (section 4.3.4).
func (e *entry) sameAs(h http.Header) bool {
	if tag, was := h.Get("Etag"), e.header.Get("Etag"); tag != "" && was != "" {
		return strings.TrimPrefix(tag, "W/") == strings.TrimPrefix(was, "W/")
	}
	modified, was := h.Get("Last-Modified"), e.header.Get("Last-Modified")
	return modified == "" || was == "" || modified == was
}

// update takes over what an answer says that says "not modified" (section 3.2).
func (e *entry) update(h http.Header, requested, received time.Time) {
	fresh := kept(h)
	for _, name := range []string{"Content-Type", "Content-Language", "Location", "X-Terraform-Get", "Vary"} {
		delete(fresh, name) // they describe the body that is here, or why it is this one
	}
	merged := e.header.Clone()
	delete(merged, "Age")
	delete(merged, "Date") // unless there is a new one, it came just now
	for name, values := range fresh {
		merged[name] = values
	}
	e.control = parseDirectives(merged)
	if keepable(merged) {
		e.header = merged
	} else {
		e.control.noStore = true
	}
	e.requested, e.received = requested, received
}

// response is e as the answer to req.
func (e *entry) response(req *http.Request, now time.Time, how string) *http.Response {
	h := e.header.Clone()
	if age := e.age(now); age != forever {
		h.Set("Age", strconv.FormatInt(int64(age/time.Second), 10))
	}
	h.Set("Cache-Status", "tofureg; "+how)
	resp := &http.Response{
		Status:     strconv.Itoa(e.status) + " " + http.StatusText(e.status),
		StatusCode: e.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: http.NoBody, Request: req,
	}
	if hasBody(e.status) {
		h.Set("Content-Length", strconv.Itoa(len(e.body)))
		resp.ContentLength = int64(len(e.body))
		resp.Body = io.NopCloser(bytes.NewReader(e.body))
	}
	return resp
}
