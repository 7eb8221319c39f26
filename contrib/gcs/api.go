package gcs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/transport"
)

const (
	defaultEndpoint = "https://storage.googleapis.com"
	pageSize        = "1000"   // objects and prefixes of a page, the maximum of the server
	maxDocument     = 16 << 20 // bytes of a page, whose names have up to 1,024 bytes
	sendRetries     = 5        // of changes: an object can be changed once a second
	maxWait         = 30 * time.Second
	maxMessage      = 4 << 10 // bytes of an answer about a failure that are read
)

// api makes requests for one bucket.
type api struct {
	http   *httpx.Client // for GET
	base   *url.URL
	host   svchost.Hostname // of base; it gets the token
	bucket string
}

// newAPI returns an api with the settings of t, except for its Credentials.
func newAPI(endpoint, bucket string, credentials *google.Credentials, t *transport.Client) (*api, error) {
	base, err := url.Parse(cmp.Or(endpoint, defaultEndpoint))
	if err != nil || base.User != nil || base.RawQuery+base.Fragment != "" || strings.Trim(base.Path, "/") != "" {
		return nil, errors.New("the endpoint must be https://HOST")
	}
	host, err := svchost.FromWire(base.Host)
	if err != nil {
		return nil, fmt.Errorf("the endpoint must be https://HOST: %w", err)
	}
	if bucket == "" {
		return nil, errors.New("the name of the bucket is missing")
	}
	settings := transport.Client{}
	if t != nil {
		settings = *t
	}
	settings.Credentials = nil
	if credentials != nil {
		settings.Credentials = tokens{credentials.TokenSource}
	}
	return &api{http: httpx.New(&settings), base: base, host: host, bucket: bucket}, nil
}

// tokens is an [auth.Source] with access tokens.
type tokens struct{ from oauth2.TokenSource }

// Token returns when ctx ends, unlike the source.
func (t tokens) Token(ctx context.Context, _ svchost.Hostname) (auth.Token, error) {
	var token auth.Token
	done := make(chan error, 1)
	go func() {
		got, err := t.from.Token()
		if err == nil {
			token, err = auth.NewToken(got.AccessToken)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return token, err
	case <-ctx.Done():
		return auth.Token{}, context.Cause(ctx)
	}
}

// String names the source in errors.
func (tokens) String() string { return "Google credentials" }

// url returns the URL of the bucket's objects below root, or of one of them unless object is empty.
func (a *api) url(root, object string, query url.Values) *url.URL {
	parts := []string{"storage", "v1", "b", a.bucket, "o"}
	if root != "" {
		parts = append([]string{root}, parts...)
	}
	if object != "" {
		parts = append(parts, object)
	}
	u := httpx.Endpoint(a.base, parts...)
	u.RawQuery = query.Encode()
	return u
}

// get requests a document of the bucket.
func (a *api) get(ctx context.Context, object string, query url.Values, document any) error {
	resp, err := a.http.Get(ctx, httpx.Request{URL: a.url("", object, query), Accept: httpx.JSON, TokenFor: a.host, Limit: maxDocument, Redirects: -1})
	if err == nil {
		err = resp.DecodeJSON(document)
	}
	return err
}

// open starts the download of an object, of its newest generation if generation is empty.
func (a *api) open(ctx context.Context, object, generation string) (*httpx.Body, error) {
	query := url.Values{"alt": {"media"}}
	if generation != "" {
		query.Set("generation", generation)
	}
	return a.http.Open(ctx, httpx.Request{URL: a.url("", object, query), TokenFor: a.host, Redirects: -1})
}

// page is a part of a list.
type page struct {
	Items []struct {
		Name       string
		Size       int64 `json:",string"`
		Generation string
	}
	Prefixes      []string
	NextPageToken string
}

// list yields the pages of a list of all objects with a prefix. An error is the last.
func (a *api) list(ctx context.Context, query url.Values) iter.Seq2[*page, error] {
	return func(yield func(*page, error) bool) {
		query.Set("maxResults", cmp.Or(query.Get("maxResults"), pageSize))
		query.Set("fields", "nextPageToken,prefixes,items(name,size,generation)")
		for {
			p := new(page)
			err := a.get(ctx, "", query, p)
			if !yield(p, err) || err != nil || p.NextPageToken == "" {
				return
			}
			query.Set("pageToken", p.NextPageToken)
		}
	}
}

// send makes a request that changes an object. It is repeated after temporary failures, with the body from its start.
func (a *api) send(ctx context.Context, method string, u *url.URL, contentType string, size int64, body func() io.Reader) error {
	u, err := a.http.Admit(u)
	if err != nil {
		return err
	}
	secret := ""
	failed := func(status int, err error) error {
		return &failure.RequestError{URL: weburl.Redact(u), Status: status, HadToken: secret != "", Err: httpx.Scrub(err, u, secret)}
	}
	if u.Scheme == "https" && a.http.Credentials != nil {
		token, err := auth.Lookup(ctx, a.http.Credentials, a.host)
		if err != nil {
			return failed(0, err)
		}
		secret = token.Reveal()
	}
	request, err := retryablehttp.NewRequestWithContext(ctx, method, u.String(), retryablehttp.ReaderFunc(func() (io.Reader, error) { return body(), nil }))
	if err != nil {
		return failed(0, err)
	}
	request.ContentLength = size
	request.Header.Set("User-Agent", cmp.Or(a.http.UserAgent, httpx.UserAgent()))
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if secret != "" {
		request.Header.Set("Authorization", "Bearer "+secret)
	}
	resp, err := a.sender().Do(request)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(resp.Body, maxMessage)) // so that the connection can be used again
		resp.Body.Close()
	}
	switch {
	case ctx.Err() != nil:
		return failed(0, fault.Ended(ctx))
	case err != nil:
		return failed(0, err)
	case resp.StatusCode/100 != 2:
		return failed(resp.StatusCode, answered(resp.StatusCode, httpx.Mask(said(text), 200, u, secret)))
	}
	return nil
}

// said returns the message in an answer about a failure.
func said(answer []byte) string {
	var document struct{ Error struct{ Message string } }
	if json.Unmarshal(answer, &document) == nil && document.Error.Message != "" {
		return document.Error.Message
	}
	return string(answer)
}

// answered returns the error of a status.
func answered(status int, message string) error {
	kind := errors.New(cmp.Or(strings.ToLower(http.StatusText(status)), "unexpected status"))
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = failure.ErrUnauthorized
	case http.StatusNotFound:
		kind = failure.ErrNotFound
	}
	if message == "" {
		return kind
	}
	return fmt.Errorf("%w, the server says %q", kind, message)
}

// sender returns the client for send. It follows no redirects.
func (a *api) sender() *retryablehttp.Client {
	client := &http.Client{
		Transport:     httpx.SharedTransport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if a.http.HTTP != nil {
		client.Transport = a.http.HTTP.Transport
	}
	return &retryablehttp.Client{
		HTTPClient: client, RetryMax: max(0, cmp.Or(a.http.Retries, sendRetries)), RetryWaitMin: time.Second / 2, RetryWaitMax: 3 * time.Second / 2,
		CheckRetry: retryablehttp.DefaultRetryPolicy, ErrorHandler: retryablehttp.PassthroughErrorHandler,
		Backoff: func(least, most time.Duration, n int, resp *http.Response) time.Duration {
			if resp != nil {
				if wait := httpx.RetryAfter(resp.Header, time.Now()); wait > 0 {
					return min(wait, maxWait)
				}
			}
			return retryablehttp.LinearJitterBackoff(least, most, n, resp)
		},
	}
}
