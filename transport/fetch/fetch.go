// Package fetch makes the HTTP requests of sources of packages, fetchers of modules and stores. It is
// experimental.
//
//	doc, err := fetch.Document(ctx, settings, fetch.Request{URL: u, TokenFor: host, Limit: 1 << 20})
//	if err == nil {
//		err = doc.DecodeJSON(&answer)
//	}
//
// A fetcher of modules passes a [Body] to [github.com/tofureg/tofureg/module.Download]. Errors of requests are
// [*github.com/tofureg/tofureg/failure.RequestError].
package fetch

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/transport"
)

// Request is a request.
type Request struct {
	// URL must be https, unless AllowHTTP of the settings permits http. User information is sent as basic credentials,
	// over https only.
	URL *url.URL

	Accept string // media type; if empty, any

	TokenFor svchost.Hostname // whose token is sent, to this host only; if zero, none

	Limit int64 // maximum of the decompressed body, in bytes; required by Document; for Open, zero means no limit

	Redirects int // maximum; if zero, 10; if negative, none

	Method string // if not empty, replaces GET; for Document only, which also repeats requests that change something

	// Body, if not nil, returns a reader for each attempt.
	Body        func() io.Reader
	Size        int64  // of Body, in bytes
	ContentType string // of Body
}

// Response is a complete answer.
type Response struct {
	Status int         // see [Document]
	Header http.Header // never nil
	URL    *url.URL    // after redirects
	Body   []byte      // never nil

	answer httpx.Response
}

// Document requests a document. T may be nil. A status of 206 or outside 2xx is an error.
func Document(ctx context.Context, t *transport.Settings, r Request) (*Response, error) {
	resp, err := httpx.New(t).Document(ctx, r.internal())
	if err != nil {
		return nil, err
	}
	return &Response{resp.Status, resp.Header, resp.URL, resp.Body, *resp}, nil
}

// DecodeJSON decodes exactly one JSON value into v, like [encoding/json.Unmarshal]. A byte order mark, invalid
// UTF-8 and more than 500,000 members are errors.
func (r *Response) DecodeJSON(v any) error { return r.answer.DecodeJSON(v) }

// Unusable returns the error of an answer that violates its protocol.
func (r *Response) Unusable(err error) error { return r.answer.Unusable(err) }

// Body is the body of a download. Read resumes interrupted downloads; its error is final.
type Body struct {
	Size    int64       // declared; -1 if unknown
	Header  http.Header // of the first answer
	Resumes func() int  // how many times the download has resumed; safe for concurrent use

	body *httpx.Body // nil in the zero Body, which is empty
}

// Read implements [io.Reader].
func (b *Body) Read(p []byte) (int, error) {
	if b.body == nil {
		return 0, io.EOF
	}
	return b.body.Read(p)
}

// Close ends the download, also during a concurrent Read. It returns nil.
func (b *Body) Close() error {
	if b.body != nil {
		b.body.Close()
	}
	return nil
}

// Unusable closes the body and returns the error of an answer that violates its protocol.
func (b *Body) Unusable(err error) error {
	if b.body == nil {
		return err
	}
	return b.body.Unusable(err)
}

// Open starts a download. T may be nil. The caller must close the body.
func Open(ctx context.Context, t *transport.Settings, r Request) (*Body, error) {
	body, err := httpx.New(t).Open(ctx, r.internal())
	if err != nil {
		return nil, err
	}
	return &Body{body.Size, body.Header, body.Resumes, body}, nil
}

func (r *Request) internal() httpx.Request {
	return httpx.Request{
		URL: r.URL, Accept: r.Accept, TokenFor: r.TokenFor, Limit: r.Limit, Redirects: r.Redirects,
		Method: r.Method, Body: r.Body, Size: r.Size, ContentType: r.ContentType,
	}
}
