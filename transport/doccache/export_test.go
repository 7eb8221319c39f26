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
	MinSize     = minSize
	Version     = version
)

// SetWait sets how long t waits for another request for the same document.
func (t *Transport) SetWait(d time.Duration) { t.wait = d }

// Decode decodes and encodes a file.
func Decode(file []byte) (again []byte, err error) {
	e, err := decode(file)
	if err != nil {
		return nil, err
	}
	return e.encode()
}

// Encode returns the file of an answer.
func Encode(status int, header http.Header, requested, received time.Time, body []byte) ([]byte, error) {
	e := &entry{Status: status, Header: header, Requested: requested, Received: received, body: body}
	return e.encode()
}

// Directives returns the times in a Cache-Control header.
func Directives(h http.Header) []time.Duration {
	d := parseDirectives(h)
	return []time.Duration{d.maxAge, d.staleIfError}
}
