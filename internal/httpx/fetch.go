package httpx

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/tofureg/tofureg/failure"
)

// fetch is one GET with all its attempts.
type fetch struct {
	client *Client
	req    *Request
	ctx    context.Context
	whole  bool // a document: read it within the attempt

	url     *url.URL    // of the first hop, as admitted
	header  http.Header // of the first hop
	token   string      // "": none goes along
	login   string      // basic credentials in its place; "": none
	asked   bool        // whether Credentials was asked for the token
	secrets secrets

	// spent counts failed attempts that went before, limit all that may be made.
	spent, limit int

	// What the attempts have brought. Either answer or err belongs to the last.
	made    int // attempts of this fetch
	started time.Time
	status  int           // of the last attempt's answer; 0: none came
	after   time.Duration // what that answer asked to wait
	at      *url.URL      // asked last, after redirects
	answer  *answer
	err     error
	before  error         // what the attempt before the last failed with
	ended   error         // no time left for another attempt
	wait    time.Duration // before the next attempt
}

// newFetch checks the request, asks for the token, and leaves the attempts to
// run. Its error is an *failure.RequestError.
func newFetch(ctx context.Context, c *Client, r *Request, whole bool) (*fetch, error) {
	f := &fetch{client: c, req: r, ctx: ctx, whole: whole, limit: c.attempts(whole), url: r.URL, at: r.URL}
	if r.URL != nil {
		f.secrets.addURL(r.URL)
	}
	if err := ctx.Err(); err != nil {
		return nil, f.fail(newEndedError(ctx, nil))
	}
	u, err := c.admit(r.URL)
	if err != nil {
		return nil, f.fail(err)
	}
	f.url, f.at = u, u
	if err := f.findToken(); err != nil {
		return nil, f.fail(err)
	}
	f.findLogin()
	f.header = f.firstHeader()
	return f, nil
}

// firstHeader returns the headers of the request.
func (f *fetch) firstHeader() http.Header {
	h := f.req.Header.Clone()
	if h == nil {
		h = make(http.Header)
	}
	for _, name := range []string{"Authorization", "Cookie", "Accept-Encoding", "Range", "If-Range"} {
		h.Del(name)
	}
	h.Set("Accept", orDefault(f.req.Accept, "*/*"))
	h.Set("User-Agent", f.client.UserAgent)
	if f.client.UserAgent == "" {
		h.Set("User-Agent", userAgent())
	}
	if a := f.authorization(); a != "" {
		h.Set("Authorization", a)
	}
	if !f.whole {
		// Lengths and ranges must mean the bytes that arrive.
		h.Set("Accept-Encoding", "identity")
	}
	return h
}

// run makes attempts until one brings an answer that stays, or none is left.
// Its error is an *failure.RequestError.
func (f *fetch) run() (*answer, error) {
	rc := &retryablehttp.Client{
		HTTPClient: &http.Client{
			Transport: attempts{f},
			// An attempt follows its redirects itself.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		RetryMax:     max(0, f.limit-f.spent-1),
		CheckRetry:   func(_ context.Context, _ *http.Response, err error) (bool, error) { return f.again(err), nil },
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return f.wait },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	req := (&http.Request{Method: http.MethodGet, URL: f.url, Header: http.Header{}}).WithContext(f.ctx)
	_, err := rc.Do(&retryablehttp.Request{Request: req})
	switch {
	case err == nil && f.answer != nil && f.answer.success():
		return f.answer, nil
	case f.ended != nil:
		return nil, f.fail(f.ended)
	case f.ctx.Err() != nil:
		return nil, f.fail(newEndedError(f.ctx, f.lastFailure()))
	case f.err != nil:
		return nil, f.fail(f.err)
	case f.answer == nil:
		return nil, f.fail(err) // cannot be: no attempt was made
	}
	return nil, f.fail(newStatusError(f.answer.status, f.answer.message))
}

// attempts is the transport of the retrying client: each round trip is an
// attempt. What it brought stays in the fetch; the retrying client is only told
// how it went, and so can neither drain a body without a timeout nor empty the
// connection pool (which is what it does when it gives up).
type attempts struct{ *fetch }

func (f attempts) RoundTrip(*http.Request) (*http.Response, error) {
	f.before = f.reason()
	f.made++
	f.status, f.after = 0, 0
	f.started = time.Now()
	f.answer, f.err = f.attempt()
	f.log("http request", slog.Int("status", f.lastStatus()), slog.Duration("took", time.Since(f.started)))
	if f.err != nil {
		return nil, f.err
	}
	return &http.Response{StatusCode: f.answer.status, Header: http.Header{}, Body: http.NoBody}, nil
}

// again decides whether another attempt follows, and after which wait.
func (f *fetch) again(err error) bool {
	switch {
	case f.ctx.Err() != nil, f.spent+f.made >= f.limit,
		err != nil && !transient(err),
		err == nil && !transientStatus(f.answer.status):
		return false
	}
	f.wait = backoff(f.spent + f.made - 1)
	if a := f.answer; a != nil && a.after > 0 &&
		(a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable) {
		f.wait = stated(a.after)
	}
	if f.ended = fits(f.ctx, f.wait, f.reason()); f.ended != nil {
		return false
	}
	f.log("http retry", slog.Duration("wait", f.wait))
	return true
}

// reason is what the last attempt failed with; nil if none was made.
func (f *fetch) reason() error {
	switch {
	case f.err != nil:
		return f.secrets.scrub(f.err)
	case f.answer != nil:
		return newStatusError(f.answer.status, f.answer.message)
	}
	return nil
}

// lastFailure is what went wrong before the context ended, not because of that.
func (f *fetch) lastFailure() error {
	if f.err != nil && (errors.Is(f.err, f.ctx.Err()) || errors.Is(f.err, context.Cause(f.ctx))) {
		return f.before
	}
	return f.reason()
}

// lastStatus is the status that the last attempt brought, 0 if none.
func (f *fetch) lastStatus() int {
	if f.answer == nil {
		return 0
	}
	return f.answer.status
}

// fail makes err, or what led to it, the *failure.RequestError of this fetch.
func (f *fetch) fail(err error) *failure.RequestError {
	e := &failure.RequestError{
		URL:        f.secrets.url(f.at),
		Status:     f.status,
		RetryAfter: f.after,
		HadToken:   f.token != "" && f.made > 0,
		Attempts:   f.spent + f.made,
		Err:        f.secrets.scrub(err),
	}
	if f.answer != nil {
		e.Message = f.answer.message
	}
	return e
}

// log writes a debug record about the last attempt.
func (f *fetch) log(msg string, attrs ...slog.Attr) {
	l := f.client.Logger
	if l == nil || !l.Enabled(f.ctx, slog.LevelDebug) {
		return
	}
	attrs = append(attrs, slog.String("url", f.secrets.url(f.at)), slog.Int("attempt", f.spent+f.made))
	if f.err != nil {
		attrs = append(attrs, slog.String("error", f.secrets.scrub(f.err).Error()))
	}
	l.LogAttrs(f.ctx, slog.LevelDebug, msg, attrs...)
}
