package regtest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Request is a recorded request. It contains tokens.
type Request struct {
	Time   time.Time // when it arrived
	Kind   Kind      // what it requests
	Method string    // for example "GET"
	Scheme string    // "https" or "http"
	Host   string    // with the port, unless it is the default
	Path   string    // as sent, with escapes
	Query  string    // as sent, without "?"

	Authorization string      // this header
	Range         string      // this header
	Referer       string      // this header
	UserAgent     string      // this header
	Header        http.Header // all headers
	Form          url.Values  // a posted form, or nil

	Status int   // of the answer, or 0 without an answer
	Sent   int64 // sent bytes of the body, after compression; in this process, bytes that the client read
}

// URL returns the requested URL.
func (q Request) URL() string {
	u := q.Scheme + "://" + q.Host + q.Path
	if q.Query != "" {
		u += "?" + q.Query
	}
	return u
}

// String returns the request in one line:
//
//	GET https://registry.example.com/.well-known/terraform.json: 200 (discovery, with Authorization)
func (q Request) String() string {
	notes := []string{q.Kind.String()}
	if q.Authorization != "" {
		notes = append(notes, "with Authorization")
	}
	if q.Range != "" {
		notes = append(notes, q.Range)
	}
	return fmt.Sprintf("%s %s: %d (%s)", q.Method, q.URL(), q.Status, strings.Join(notes, ", "))
}

// Requests returns all requests since the last Reset, in order. Redirected requests have the
// kind of their target.
func (r *Registry) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Request, len(r.requests))
	for i, q := range r.requests {
		list[i] = *q
		list[i].Header = q.Header.Clone()
		list[i].Form = url.Values(http.Header(q.Form).Clone())
	}
	return list
}

// Count returns the number of recorded requests of the kinds. Zero counts all.
func (r *Registry) Count(kind Kind) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, q := range r.requests {
		if kind.has(q.Kind) {
			n++
		}
	}
	return n
}

// Reset deletes the recorded requests. Faults and their counters remain.
func (r *Registry) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = nil
}

// record adds a request.
func (r *Registry) record(c *call) *Request {
	q := &Request{
		Time: time.Now(), Kind: c.target.kind, Method: c.method,
		Scheme: c.scheme, Host: c.host, Path: c.path, Query: c.query,
		Authorization: c.header.Get("Authorization"),
		Range:         c.header.Get("Range"),
		Referer:       c.header.Get("Referer"),
		UserAgent:     c.header.Get("User-Agent"),
		Header:        c.header.Clone(),
		Form:          c.form,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, q)
	return q
}

// note changes a recorded request.
func (r *Registry) updateRecord(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}
