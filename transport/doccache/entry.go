package doccache

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// entry is a cached answer. Its file has three parts: the SHA-256 of the rest in
// hexadecimal, the exported fields as JSON, each with a newline, and the body.
type entry struct {
	Status    int         `json:"status"`
	Header    http.Header `json:"header"` // of keptHeaders
	Requested time.Time   `json:"requested"`
	Received  time.Time   `json:"received"`

	body []byte
}

const (
	// maxDocument is the size of the largest document that the clients read.
	maxDocument = 16 << 20
	// maxHead is the size of the largest header of a file.
	maxHead = 64 << 10
	maxFile = 2*sha256.Size + 1 + maxHead + maxDocument
)

var (
	// errDamaged is the error for a file that is not as it was written.
	errDamaged = errors.New("damaged or foreign file")
	// errTooLarge is the error for an entry that is larger than the cache permits.
	errTooLarge = errors.New("larger than the cache")
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

// decode reads the file of an entry, which keeps a part of file.
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

// update takes over the headers of an answer that says "not modified" (section 3.2). Headers
// that describe a body stay.
func (e *entry) update(h http.Header, requested time.Time) {
	e.Header = e.Header.Clone()
	e.Header.Del("Age")
	e.Header.Del("Date") // without a new one, the answer was made now
	for _, name := range []string{"Age", "Cache-Control", "Date", "Etag", "Expires", "Last-Modified"} {
		if v := h[name]; len(v) > 0 && isText(v) {
			e.Header[name] = v
		}
	}
	e.Requested, e.Received = requested, time.Now()
}

// response returns e as the answer to req.
func (e *entry) response(req *http.Request, how string) *http.Response {
	h := e.Header.Clone()
	if age := e.age(time.Now()); age != forever {
		h.Set("Age", strconv.FormatInt(int64(age/time.Second), 10))
	}
	h.Set("Cache-Status", "tofureg; "+how)
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
