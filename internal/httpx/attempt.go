package httpx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/weburl"
)

// attempt is one request with its redirects, and its outcome.
type attempt struct {
	url          *url.URL       // of the last hop
	resp         *http.Response // of the last hop, without its body; nil if there was no answer
	credentialed bool           // whether the last hop had the token or the login
	overHTTP     bool           // whether a hop was http

	body    []byte  // of a document, after a success
	stream  *stream // of a package, after a success; the caller must close it
	message string  // of the server about a failure

	failed    *failure.RequestError // nil after a success
	transient bool                  // whether another attempt may succeed

	before error         // of the attempt before; nil if this is the first
	wait   time.Duration // before the next attempt, if one follows
}

// attempt makes one attempt, within the timeout of the client. The request first has the context and the
// URL.
func (f *fetch) attempt(first *http.Request) *attempt {
	limit, what := f.client.headerTimeout(), "no answer"
	if f.document {
		limit, what = f.client.documentTimeout(), "no complete answer"
	}
	f.made++
	began := time.Now()
	ctx, cancel := context.WithCancelCause(first.Context())
	clock := startClock(limit, func() { cancel(timeoutError(what, limit)) })

	a := &attempt{credentialed: f.authorization() != ""}
	err := f.follow(a, first.WithContext(context.WithValue(ctx, attemptKey{}, inContext{isPackage: !f.document, clock: clock})))
	if err == nil {
		f.invalidateToken(a)
		err = f.receive(a)
	}
	inTime := clock.stop()
	if err == nil && !f.document && f.isSuccess(a.resp) {
		if inTime {
			a.stream = f.newStream(ctx, cancel, a.resp.Body)
		} else { // the time ended together with the headers
			_ = a.resp.Body.Close()
			err = timeoutError(what, limit)
		}
	}
	if a.stream == nil { // a stream goes on in ctx
		defer cancel(nil)
	}

	if err != nil {
		a.failed = f.fail(a.url, a.resp, causeOf(ctx, err))
		a.transient = transient(a.failed.Err)
	} else if !f.isSuccess(a.resp) {
		a.failed = f.fail(a.url, a.resp, statusError(a.resp.StatusCode, a.message))
		a.failed.Message = a.message
		a.transient = transientStatus(a.resp.StatusCode)
	}
	f.log(first.Context(), "http request", a, slog.Duration("took", time.Since(began)))
	return a
}

// follow requests hop and all that it redirects to, and sets in a what is known of the last one.
func (f *fetch) follow(a *attempt, hop *http.Request) error {
	var next *http.Request // that http.Client would make after a redirect; it makes one hop at a time
	client := http.Client{
		Transport:     SharedTransport(),
		CheckRedirect: func(req *http.Request, _ []*http.Request) error { next = req; return http.ErrUseLastResponse },
	}
	if own := f.client.HTTP; own != nil {
		client.Jar, client.Transport = own.Jar, own.Transport
		if own.Transport == nil {
			client.Transport = http.DefaultTransport
		}
	}
	client.Transport = locations{client.Transport}

	hop.Header = f.header.Clone() // the client adds cookies
	if f.req.Body != nil {
		hop.Body, hop.ContentLength = io.NopCloser(f.req.Body()), f.req.Size
	}
	var via []*http.Request // earlier hops
	for {
		a.url, a.resp, next = hop.URL, nil, nil
		a.overHTTP = a.overHTTP || hop.URL.Scheme != "https"
		resp, err := client.Do(hop)
		if refused, ok := errors.AsType[*redirectError](err); ok {
			a.resp = refused.resp
			return refused
		}
		if err != nil {
			return err
		}
		a.resp = resp
		if next == nil {
			return nil
		}
		via = append(via, hop)
		err = f.redirect(a, next, via)
		if errors.Is(err, http.ErrUseLastResponse) {
			return nil
		}
		Discard(resp)
		if err != nil {
			return &redirectError{f.secrets.url(next.URL), err, resp}
		}
		hop = next
	}
}

// locations refuses redirects to an invalid URL, because http.Client would repeat it in its error.
type locations struct{ next http.RoundTripper }

func (t locations) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil || resp == nil || resp.StatusCode/100 != 3 {
		return resp, err
	}
	if _, err := req.URL.Parse(resp.Header.Get("Location")); err != nil {
		if resp.Body != nil {
			_ = resp.Body.Close()
		}
		return nil, &redirectError{weburl.Ellipsis, errors.New("the Location header is not a URL"), resp}
	}
	return resp, nil
}

// redirectError is a refused redirect.
type redirectError struct {
	to   string // redacted URL
	err  error
	resp *http.Response // the redirect
}

func (e *redirectError) Error() string {
	return fmt.Sprintf("redirect to %s refused: %v", e.to, e.err)
}

func (e *redirectError) Unwrap() error { return e.err }

// redirect decides whether next follows a, the last of the hops in via, and which headers it has. The
// caller's CheckRedirect is called last.
func (f *fetch) redirect(a *attempt, next *http.Request, via []*http.Request) error {
	f.secrets.addURL(next.URL)
	if limit := max(0, cmp.Or(f.req.Redirects, defaultRedirects)); len(via) > limit {
		return fmt.Errorf("more than %d redirects", limit)
	}
	// A relative URL has the user of the URL before, and does not try to choose a login.
	if u := next.URL.User; u != nil && (a.url.User == nil || u.String() != a.url.User.String() || !sameOrigin(a.url, next.URL)) {
		return errors.New("the URL contains credentials")
	}
	u, err := f.client.Admit(next.URL)
	if err != nil {
		return err
	}
	next.URL = u
	signed := presigned(u, f.tokenHost)
	if signed {
		u.User = nil // so that later hops do not inherit it
	}
	// Credentials that one hop does not get are withheld from all hops after it: a foreign server chose those.
	a.credentialed = a.credentialed && sameOrigin(f.url, u) && !signed
	// net/http copies headers, Authorization even to http at the same host and port, and adds Referer.
	next.Header.Del("Referer")
	next.Header.Del("Authorization")
	if a.credentialed {
		next.Header.Set("Authorization", f.authorization())
	}
	if own := f.client.HTTP; own != nil && own.CheckRedirect != nil {
		return own.CheckRedirect(next, via)
	}
	return nil
}

// Discard reads a short body, so that its connection can be reused, and closes it.
func Discard(resp *http.Response) {
	const short = 2 << 10
	if resp.ContentLength <= short {
		_, _ = io.CopyN(io.Discard, resp.Body, short)
	}
	_ = resp.Body.Close()
}

// receive reads the body of a document or the message of the server about a failure.
func (f *fetch) receive(a *attempt) (err error) {
	limit := f.req.Limit
	switch {
	case !f.isSuccess(a.resp):
		a.message = f.readMessage(a.resp)
	case limit > 0 && a.resp.ContentLength > limit:
		err = fmt.Errorf("%w: body has %d bytes, limit is %d", failure.ErrTooLarge, a.resp.ContentLength, limit)
	case f.document:
		a.body, err = readAll(a.resp.Body, a.resp.ContentLength, limit)
	default:
		return nil // the body is the stream
	}
	_ = a.resp.Body.Close()
	return err
}

// isSuccess reports whether a response has the requested body. Status 206 is a success only after
// a request for a range.
func (f *fetch) isSuccess(resp *http.Response) bool {
	return resp.StatusCode/100 == 2 && (resp.StatusCode != http.StatusPartialContent || f.header.Get("Range") != "")
}

// causeOf returns the cause of ctx if it has ended, or err as the error of an attempt. A timeout of the
// transport itself is not an error of a context.
func causeOf(ctx context.Context, err error) error {
	if isA[*redirectError](err) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := err.(*url.Error); ok {
		err = u.Err
		if err == io.EOF {
			return fmt.Errorf("connection was closed without an answer: %w", io.EOF)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Narrow(err.Error(), os.ErrDeadlineExceeded)
	}
	return err
}

// readAll reads a body of at most limit bytes. The declared length may be -1. The result is not nil
// unless there is an error.
func readAll(r io.Reader, length, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, max(limit, limit+1))) // limit+1 may overflow
	n := int64(len(data))
	switch {
	case n > limit:
		return nil, fmt.Errorf("%w: body exceeds %d bytes", failure.ErrTooLarge, limit)
	case err == nil && n < length:
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, interrupted(err, n)
	}
	return data, nil
}

// interrupted returns the error of an incomplete body.
func interrupted(err error, at int64) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("body ends early, after %d bytes: %w", at, err)
	}
	return fmt.Errorf("read body after %d bytes: %w", at, err)
}

// statusError returns the error of a status that is not a success, with the message of the server.
func statusError(status int, message string) error {
	var kind error
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = failure.ErrUnauthorized
	case http.StatusNotFound, http.StatusGone:
		kind = failure.ErrNotFound
	case http.StatusPartialContent:
		kind = errors.New("unexpected part of the document")
	default:
		kind = errors.New(cmp.Or(strings.ToLower(http.StatusText(status)), "unexpected status"))
	}
	if message == "" {
		return kind
	}
	return fault.Narrow(kind.Error()+`, the server says "`+strings.ReplaceAll(message, `"`, `\"`)+`"`, kind)
}

// timeoutError returns the error of a slow server. It is a net.Error and os.ErrDeadlineExceeded.
func timeoutError(what string, limit time.Duration) error {
	return fault.Narrow(fmt.Sprintf("%s within %v", what, limit), os.ErrDeadlineExceeded)
}
