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
	h.Set("Cache-Status", "tofureg; "+cacheStatus)
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
