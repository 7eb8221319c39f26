package login

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/weburl"
)

const (
	maxAnswer       = 64 << 10         // of the token endpoint, in bytes
	exchangeTimeout = 30 * time.Second // for the request and the answer
)

var errNoToken = errors.New("unusable answer: it is not that of a token endpoint, a JSON object with access_token")

// exchange gets the token for the code.
func (c *Client) exchange(ctx context.Context, f *flow, code string) (*Result, error) {
	web := c.web()
	w := &wire{userAgent: web.UserAgent}
	client := http.Client{}
	if web.HTTP != nil {
		client = *web.HTTP
	}
	w.next, client.Transport = client.Transport, w
	if w.next == nil {
		w.next = httpx.SharedTransport()
	}
	limited, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	token, err := f.config.Exchange(context.WithValue(limited, oauth2.HTTPClient, &client), code, oauth2.VerifierOption(f.verifier))
	log(ctx, web.Logger, "login: code exchanged", slog.String("url", weburl.Redact(f.tokenURL)), slog.Int("status", w.status))
	var r *Result
	if err == nil {
		r, err = f.result(token)
	} else {
		err = f.explain(ctx, err, code)
	}
	if err != nil {
		return nil, &failure.RequestError{URL: weburl.Redact(f.tokenURL), Status: w.status, Attempts: 1, Err: err}
	}
	return r, nil
}

// result checks what the token endpoint granted.
func (f *flow) result(granted *oauth2.Token) (*Result, error) {
	// Whoever grants a token of another type wants it to be shown in another way.
	if t := granted.TokenType; t != "" && !strings.EqualFold(t, "bearer") {
		return nil, fmt.Errorf("the token is of the type %q, not a bearer token", weburl.Clean(t, 20))
	}
	token, err := auth.NewToken(granted.AccessToken)
	if err != nil {
		return nil, err
	}
	return &Result{Host: f.host, Token: token, Expires: granted.Expiry}, nil
}

// explain turns what the oauth2 package returned into an error that shows nothing of
// the answer but the reason, and nothing of the request.
func (f *flow) explain(ctx context.Context, err error, code string) error {
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		if refused.ErrorCode != "" {
			return f.refused(refused.ErrorCode, refused.ErrorDescription, code)
		}
		status := http.StatusText(refused.Response.StatusCode)
		return errors.New(cmp.Or(strings.ToLower(status), "unexpected status"))
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return httpx.Scrub(err, f.tokenURL, code, f.verifier, f.state)
	}
	return errNoToken // it may be quoted in err
}

// A wire is the transport of the one request to the token endpoint. It follows no
// redirect and reads no more than is allowed.
type wire struct {
	userAgent string
	next      http.RoundTripper
	status    int // of the answer
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", cmp.Or(w.userAgent, httpx.UserAgent()))
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	w.status = resp.StatusCode
	if resp.StatusCode/100 == 3 {
		return nil, errors.New("the token endpoint redirects, and the code goes nowhere else")
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("%w: an answer of more than %d bytes", fault.ErrTooLarge, maxAnswer)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
