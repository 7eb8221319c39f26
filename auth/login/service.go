package login

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"golang.org/x/oauth2"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
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
		return nil, &UnsupportedError{Host: host, TokensURL: tokensURL(services), GrantTypes: printable(oauth.GrantTypes)}
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
	if errors.Is(err, disco.ErrInsecure) {
		return fmt.Errorf("%w: not https", disco.ErrInsecure)
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

// printable returns the first ten texts of a list without control characters.
func printable(list []string) []string {
	var out []string
	for _, s := range list[:min(len(list), 10)] {
		out = append(out, weburl.Clean(s, 40))
	}
	return out
}

// pageURL returns the URL of the login page.
func (f *flow) pageURL() string {
	return f.config.AuthCodeURL(f.state, oauth2.S256ChallengeOption(f.verifier))
}
