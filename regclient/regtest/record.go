package regtest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Request is what the record keeps of one request. It contains secrets: it is
// for tests that ask who got to see them.
type Request struct {
	Time   time.Time // when it came
	Kind   Kind      // what it asks for
	Method string    // as a rule "GET", and "POST" for LoginToken
	Scheme string    // "https" or "http"
	Host   string    // with the port, unless it is the one of the scheme
	Path   string    // as it was sent, with escapes
	Query  string    // as it was sent, without the question mark

	Authorization string      // the header, "" if there was none
	Range         string      // likewise
	Referer       string      // likewise
	UserAgent     string      // likewise
	Header        http.Header // all of it
	Form          url.Values  // what was posted as a form, nil if nothing was

	// Status is the status of the answer, or 0 if there was none, or none yet.
	Status int

	// Sent is how many bytes of the body have been sent, compressed ones if it is
	// compressed. In process, that is as many as the client has read.
	Sent int64
}

// URL returns the URL that was asked for.
func (q Request) URL() string {
	u := q.Scheme + "://" + q.Host + q.Path
	if q.Query != "" {
		u += "?" + q.Query
	}
	return u
}

// String returns the request in one line, for the messages of tests:
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

// Requests returns the record of all requests since the last Reset, in the
// order in which they came. Hops of a redirect have the kind of what they lead
// to.
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

// Count returns how many requests of a kind, or of any kind in a set, the
// record has. Zero counts all.
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

// Reset empties the record. Faults and their counters stay.
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

// note makes a change to a request of the record.
func (r *Registry) note(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}
