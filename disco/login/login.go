package login

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/transport"
)

// defaultTimeout leaves time for a second factor.
const defaultTimeout = 10 * time.Minute

// A Client logs in and out. Login needs Open, and Logout needs Store. After either, the caller must invalidate
// sources that have cached the host, see [auth.Invalidator]. A Client is safe for concurrent use.
type Client struct {
	// Open opens the https URL in a browser, or shows it to the user, who should see its host. It is called in a
	// new goroutine, and may return after Login. An error before the redirect ends the login. Pass the URL to a
	// program as one argument, without a shell.
	Open func(url string) error

	Store     auth.Store          // stores the token, if not nil
	Transport *transport.Settings // may be nil; VetoHost is not called for the login page
	Hosts     *disco.Hosts        // caches services; if nil, each login discovers them
	Timeout   time.Duration       // limits the wait for the browser; if 0, 10 minutes; if negative, unlimited
}

// A Result is the result of a login.
type Result struct {
	Host    svchost.Hostname // for an alias, its target
	Token   auth.Token       // the token
	Expires time.Time        // zero if the host does not state it
}

var errNoHost = errors.New("missing host")

// web returns the settings of requests.
func (c *Client) web() *httpx.Client { return httpx.New(c.Transport) }

// Login gets a token for host, and saves it in the Store for Host of the Result.
//
// The error is a [*failure.Error]. It can wrap an [*UnsupportedError], a [*RefusedError],
// [failure.ErrInsecure], [auth.ErrInvalidToken], [os.ErrDeadlineExceeded] after Timeout, or an error of
// discovery, Open or the Store. If only saving fails, Login returns the Result, too.
func (c *Client) Login(ctx context.Context, host svchost.Hostname) (*Result, error) {
	r, err := c.login(ctx, host)
	return r, failed("log in to", host, err)
}

func (c *Client) login(ctx context.Context, host svchost.Hostname) (r *Result, err error) {
	if host.IsZero() {
		return nil, errNoHost
	}
	if c.Open == nil {
		return nil, errors.New("Client.Open is nil; it must open the login page")
	}
	f, err := c.newFlow(ctx, host)
	if err != nil {
		return nil, err
	}
	l := newListener(f.state, host, c.web().Logger)
	if err := l.listen(ctx, f.minPort, f.maxPort); err != nil {
		return nil, err
	}
	f.config.RedirectURL = l.redirect()
	l.serve()
	success := false
	defer func() { l.finish(success) }() // also after a panic of the Store
	code, err := c.awaitCode(ctx, f, l)
	if err != nil {
		return nil, err
	}
	if r, err = c.exchange(ctx, f, code); err != nil {
		return nil, err
	}
	if c.Store != nil {
		if err := c.Store.Save(ctx, r.Host, r.Token); err != nil {
			return r, fmt.Errorf("logged in, but saving the token failed: %w", httpx.Scrub(err, nil, r.Token.Reveal()))
		}
	}
	success = true
	return r, nil
}

// Logout removes the token of host from the Store. For an alias, pass Host of the Result. The token stays valid
// until the user revokes it at the host. The error is a [*failure.Error] that wraps the error of the Store.
func (c *Client) Logout(ctx context.Context, host svchost.Hostname) error {
	err := errors.New("Client.Store is nil; set it to the store with the token")
	switch {
	case host.IsZero():
		err = errNoHost
	case c.Store != nil:
		err = c.Store.Forget(ctx, host)
	}
	return failed("log out of", host, err)
}

// log writes a debug record.
func log(ctx context.Context, l *slog.Logger, msg string, attrs ...slog.Attr) {
	if l != nil {
		l.LogAttrs(ctx, slog.LevelDebug, msg, attrs...)
	}
}

// failed returns the error of an operation, or nil if err is nil.
func failed(op string, host svchost.Hostname, err error) error {
	if err == nil {
		return nil
	}
	return &failure.Error{Op: op, Subject: host.Display(), Err: err}
}

// An UnsupportedError means that the host does not offer login.v1 with the grant type authz_code. The user
// must create a token there.
type UnsupportedError struct {
	Host svchost.Hostname // of the login

	GrantTypes []string // at most ten of the host
	TokensURL  string   // page on which users create tokens, of a host with the service tfe.v2; otherwise empty
	Err        error    // wraps [disco.ErrNoService] or [disco.ErrServiceVersion]; nil if the host has other grant types
}

func (e *UnsupportedError) Error() string {
	why, page := fmt.Sprintf("%s does not support the grant type authz_code, only %q", e.Host.Display(), e.GrantTypes), ""
	if e.Err != nil {
		why = e.Err.Error()
	}
	if e.TokensURL != "" {
		page = " (" + e.TokensURL + ")"
	}
	return why + "; create an API token on a page of the host" + page + " and store it"
}

func (e *UnsupportedError) Unwrap() error { return e.Err }

// A RefusedError means that the user or the identity server refused the login. Its texts come from the server,
// without control characters and secrets.
type RefusedError struct {
	Code        string // of RFC 6749 sections 4.1.2.1 and 5.2, such as "access_denied" if the user refused
	Description string // may be empty
}

func (e *RefusedError) Error() string {
	text := "refused by the identity server: " + e.Code
	if e.Description != "" {
		text += " (\"" + e.Description + "\")"
	}
	return text
}
