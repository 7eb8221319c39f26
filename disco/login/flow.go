package login

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/weburl"
)

// A flow has the parameters of a login.
type flow struct {
	config           oauth2.Config
	tokenURL         *url.URL
	host             svchost.Hostname // of the token
	minPort, maxPort int
	state, verifier  string
}

// newFlow discovers the login service of a host. It does not set config.RedirectURL.
func (c *Client) newFlow(ctx context.Context, host svchost.Hostname) (*flow, error) {
	discovery := disco.Client{Transport: c.Transport, Hosts: c.Hosts}
	services, err := discovery.Discover(ctx, host)
	if err != nil {
		return nil, err
	}
	oauth, err := services.OAuthClient()
	switch {
	case errors.Is(err, disco.ErrNoService), errors.Is(err, disco.ErrServiceVersion):
		return nil, &UnsupportedError{Host: host, TokensURL: tokensURL(services), Err: err}
	case err != nil:
		return nil, err
	case !slices.Contains(oauth.GrantTypes, disco.GrantAuthzCode):
		e := &UnsupportedError{Host: host, TokensURL: tokensURL(services)}
		for _, grant := range oauth.GrantTypes[:min(len(oauth.GrantTypes), 10)] {
			e.GrantTypes = append(e.GrantTypes, weburl.Clean(grant, 40))
		}
		return nil, e
	}
	// The user enters a password at the first URL, and the code is sent to the second.
	if oauth.AuthorizationURL, err = new(httpx.Client).Admit(oauth.AuthorizationURL); err != nil {
		return nil, fmt.Errorf("authorization URL of the host: %w", urlError(err))
	}
	oauth.AuthorizationURL.RawQuery = ownQuery(oauth.AuthorizationURL, len(oauth.Scopes) > 0)
	if oauth.TokenURL, err = (&httpx.Client{VetoHost: c.web().VetoHost}).Admit(oauth.TokenURL); err != nil {
		return nil, fmt.Errorf("token URL of the host: %w", urlError(err))
	}
	config := oauth2.Config{ClientID: oauth.ID, Scopes: oauth.Scopes, Endpoint: oauth2.Endpoint{
		AuthURL:   oauth.AuthorizationURL.String(),
		TokenURL:  oauth.TokenURL.String(),
		AuthStyle: oauth2.AuthStyleInParams, // the client has no secret
	}}
	return &flow{
		config: config, tokenURL: oauth.TokenURL, host: services.TokenHost(), minPort: oauth.MinPort, maxPort: oauth.MaxPort,
		state: rand.Text(), verifier: oauth2.GenerateVerifier(),
	}, nil
}

// ownQuery returns the query of the authorization URL without the parameters that Login sets.
// A parameter must not appear twice (RFC 6749 section 3.1).
func ownQuery(u *url.URL, scope bool) string {
	query := u.Query()
	for _, name := range []string{"response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method"} {
		query.Del(name)
	}
	if scope {
		query.Del("scope")
	}
	return query.Encode()
}

// urlError returns the cause of a refused URL, without a remedy that has no effect here.
func urlError(err error) error {
	if errors.Is(err, failure.ErrInsecure) {
		return fmt.Errorf("%w: not https", failure.ErrInsecure)
	}
	return err
}

// tokensURL returns the page on which users create tokens, or "".
func tokensURL(services *disco.Services) string {
	u, err := services.URL("tfe.v2")
	if err != nil || u.Scheme != "https" {
		return ""
	}
	return weburl.Redact(&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/app/settings/tokens"})
}

// pageURL returns the URL of the login page.
func (f *flow) pageURL() string {
	return f.config.AuthCodeURL(f.state, oauth2.S256ChallengeOption(f.verifier))
}

// awaitCode opens the login page and returns the code in the redirect.
func (c *Client) awaitCode(ctx context.Context, f *flow, l *listener) (code string, err error) {
	page := f.pageURL()
	log(ctx, c.web().Logger, "login: waiting for the browser", slog.String("host", l.host.String()), slog.String("redirect", l.redirect()))
	opened := make(chan error, 1) // Open can return after the login
	go func() { opened <- c.Open(page) }()
	limit := cmp.Or(c.Timeout, defaultTimeout)
	var timeout <-chan time.Time
	if limit > 0 {
		timeout = time.After(limit)
	}
	for {
		select {
		case query := <-l.answers:
			switch {
			case query.Get("error") != "":
				return "", f.refused(query.Get("error"), query.Get("error_description"), query.Get("code"))
			case query.Get("code") == "":
				return "", errors.New("the redirect of the browser has neither a code nor an error")
			}
			return query.Get("code"), nil
		case err := <-opened:
			if err == nil || l.answered.Load() {
				opened = nil // wait for the redirect
				continue
			}
			page, _ := url.Parse(f.pageURL()) // is always valid
			return "", fmt.Errorf("opening the login page: %w", httpx.Scrub(err, page, f.state, f.verifier))
		case <-timeout:
			return "", fmt.Errorf("no redirect of the browser within %v%s: %w", limit, l.otherAnswers(), os.ErrDeadlineExceeded)
		case <-ctx.Done():
			return "", fmt.Errorf("while waiting for the browser%s: %w", l.otherAnswers(), fault.Ended(ctx))
		}
	}
}

// refused returns the error of the identity server, without secrets.
func (f *flow) refused(code, description, hidden string) error {
	return &RefusedError{
		Code:        httpx.Mask(code, 60, f.tokenURL, f.state, f.verifier, hidden),
		Description: httpx.Mask(description, 300, f.tokenURL, f.state, f.verifier, hidden),
	}
}

const (
	maxAnswer       = 64 << 10         // bytes of the answer of the token endpoint
	exchangeTimeout = 30 * time.Second // for the request and the answer
)

var errNoToken = errors.New("invalid answer: expected a JSON object with access_token")

// exchange exchanges the code for the token.
func (c *Client) exchange(ctx context.Context, f *flow, code string) (*Result, error) {
	web := c.web()
	w := &tokenTransport{userAgent: web.UserAgent, next: httpx.SharedTransport()}
	client := http.Client{}
	if web.HTTP != nil {
		client = *web.HTTP
		w.next = cmp.Or(client.Transport, http.DefaultTransport)
	}
	client.Transport = w
	limited, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	token, err := f.config.Exchange(context.WithValue(limited, oauth2.HTTPClient, &client), code, oauth2.VerifierOption(f.verifier))
	log(ctx, web.Logger, "login: code exchanged", slog.String("url", weburl.Redact(f.tokenURL)), slog.Int("status", w.status))
	var secret auth.Token
	switch {
	case err != nil:
		err = f.explain(ctx, err, code)
	case token.TokenType != "" && !strings.EqualFold(token.TokenType, "bearer"): // it could not be sent as a bearer token
		err = fmt.Errorf("unsupported token type %q, want bearer", weburl.Clean(token.TokenType, 20))
	default:
		secret, err = auth.NewToken(token.AccessToken)
	}
	if err != nil {
		return nil, &failure.RequestError{URL: weburl.Redact(f.tokenURL), Status: w.status, Attempts: 1, Err: err}
	}
	return &Result{Host: f.host, Token: secret, Expires: token.Expiry}, nil
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
		return nil, fmt.Errorf("%w: answer of more than %d bytes", failure.ErrTooLarge, maxAnswer)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
