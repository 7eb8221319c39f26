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
	"os"
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
	maxAnswer       = 64 << 10         // bytes of the answer of the token endpoint
	exchangeTimeout = 30 * time.Second // for the request and the answer
)

var errNoToken = errors.New("invalid answer: expected a JSON object with access_token")

// exchange exchanges the code for the token.
func (c *Client) exchange(ctx context.Context, f *flow, code string) (*Result, error) {
	web := c.web()
	w := &tokenTransport{userAgent: web.UserAgent}
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

// result checks the token.
func (f *flow) result(granted *oauth2.Token) (*Result, error) {
	// Tokens of other types are not sent as bearer tokens.
	if t := granted.TokenType; t != "" && !strings.EqualFold(t, "bearer") {
		return nil, fmt.Errorf("unsupported token type %q, want bearer", weburl.Clean(t, 20))
	}
	token, err := auth.NewToken(granted.AccessToken)
	if err != nil {
		return nil, err
	}
	return &Result{Host: f.host, Token: token, Expires: granted.Expiry}, nil
}

// explain returns the cause of an error of package oauth2, without the request and other
// parts of the answer.
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
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Narrow(fmt.Sprintf("no complete answer within %v", exchangeTimeout), os.ErrDeadlineExceeded)
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return httpx.Scrub(err, f.tokenURL, code, f.verifier, f.state)
	}
	return errNoToken // err can contain the token
}

// A tokenTransport sends the request to the token endpoint. It refuses redirects and large
// answers.
type tokenTransport struct {
	userAgent string
	next      http.RoundTripper
	status    int // status code of the answer
}

// RoundTrip implements http.RoundTripper.
func (w *tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
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
		return nil, errors.New("refused redirect of the token endpoint")
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("%w: answer of more than %d bytes", fault.ErrTooLarge, maxAnswer)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
