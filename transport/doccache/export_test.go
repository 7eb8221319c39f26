package doccache

import (
	"net/http"
	"time"
)

// Limits of the package.
const (
	MaxDocument = maxDocument
	MaxHead     = maxHead
	MaxFresh    = maxFresh
	LeastSize   = leastSize
	Version     = version
)

// SetWait sets how long t waits for other requests for the same document.
func (t *Transport) SetWait(d time.Duration) { t.wait = d }

// Decode reads a file and writes it again.
func Decode(file []byte) (again []byte, err error) {
	e, err := decode(file)
	if err != nil {
		return nil, err
	}
	return e.encode()
}

// Encode writes the file of an answer.
func Encode(status int, header http.Header, requested, received time.Time, body []byte) ([]byte, error) {
	e := &entry{Status: status, Header: header, Requested: requested, Received: received, body: body}
	return e.encode()
}

// Directives reads a Cache-Control header, and returns the times that are stated.
func Directives(h http.Header) []time.Duration {
	d := parseDirectives(h)
	return []time.Duration{d.maxAge, d.staleIfError}
}
