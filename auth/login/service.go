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

// A flow is one login.
type flow struct {
	config           oauth2.Config
	tokenURL         *url.URL
	host             svchost.Hostname // of the token
	minPort, maxPort int
	state, verifier  string
}

// newFlow asks the host for its login service. The redirect URL is still missing.
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
	// Passwords are typed in at the one and the code is sent to the other.
	if oauth.AuthorizationURL, err = new(httpx.Client).Admit(oauth.AuthorizationURL); err != nil {
		return nil, fmt.Errorf("the authorization URL of the host: %w", unfit(err))
	}
	oauth.AuthorizationURL.RawQuery = ownQuery(oauth.AuthorizationURL, len(oauth.Scopes) > 0)
	if oauth.TokenURL, err = (&httpx.Client{VetoHost: c.web().VetoHost}).Admit(oauth.TokenURL); err != nil {
		return nil, fmt.Errorf("the token URL of the host: %w", unfit(err))
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

// ownQuery returns the query of a host without the parameters that a login sets: none may
// be there twice (RFC 6749 section 3.1), and an identity server may take the first.
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

// unfit says in words that fit a login why a URL is refused.
func unfit(err error) error {
	if errors.Is(err, disco.ErrInsecure) {
		return fmt.Errorf("%w: it is not https", disco.ErrInsecure)
	}
	return err
}

// tokensURL returns the page on which users make tokens for themselves, or "".
func tokensURL(services *disco.Services) string {
	u, err := services.URL("tfe.v2")
	if err != nil || u.Scheme != "https" {
		return ""
	}
	return weburl.Redact(&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/app/settings/tokens"})
}

// printable returns the first few of what came from the wire, made safe to print.
func printable(list []string) []string {
	var out []string
	for _, s := range list[:min(len(list), 10)] {
		out = append(out, weburl.Clean(s, 40))
	}
	return out
}

// pageURL returns where the browser is to go.
func (f *flow) pageURL() string {
	return f.config.AuthCodeURL(f.state, oauth2.S256ChallengeOption(f.verifier))
}
