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
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/transport"
)

// defaultTimeout is enough to find the telephone with the second factor.
const defaultTimeout = 10 * time.Minute

// A Client logs in and out. Only Open is needed to log in, only Store to log out.
// A Client holds no state: it is safe for concurrent use, also for several logins
// at the same time, as long as nobody changes its fields.
type Client struct {
	// Open shows the user the page at url, which is https, in a browser; or tells
	// the user to go there. An error ends the login. It is called once for each,
	// by a goroutine of its own: if it returns only when the browser is closed,
	// Login does not wait for that.
	//
	// The address comes from the host, and may be that of another one: let users
	// see where they are about to log in. It has no characters but those that may
	// stand in a URL, so it can be printed; hand it to a program as one argument,
	// and to no shell.
	Open func(url string) error

	// Store keeps the token. Nil: Login only returns it, and Logout is an error.
	Store auth.Store

	// Transport has the settings of requests. It need not have tokens, since logging in
	// is how to get one. Its AllowHTTP has no effect on the endpoints of a login, and
	// its VetoHost is not asked about where the browser goes. Nil is the zero one.
	Transport *transport.Client

	// Hosts is what is known about the services of hosts, which clients may share. If
	// nil, the Client asks.
	Hosts *disco.Hosts

	// Timeout is how long Login waits for the browser to come back: 10 minutes if
	// it is 0, without limit but that of the context if it is negative.
	Timeout time.Duration
}

// A Result is what came of a login.
type Result struct {
	// Host is the host whose token it is, and under which the Store has it. It is
	// the one that was asked for, unless that is an alias, see disco.Client.
	Host svchost.Hostname
	// Token is the token.
	Token auth.Token
	// Expires is when the token ends. It is zero if the host does not say; most
	// tokens are good until somebody revokes them.
	Expires time.Time
}

var (
	errNoHost  = errors.New("there is no host")
	errNoOpen  = errors.New("Client.Open is nil, so nobody can be sent to the page of the host")
	errNoStore = errors.New("Client.Store is nil, so no token is kept anywhere")
)

// web returns the settings of requests.
func (c *Client) web() *httpx.Client { return httpx.New(c.Transport) }

// Login gets a token for host from the user, by way of a browser, and puts it into
// the Store. A token that the Store had before is replaced.
//
// Any error is a [*failure.Error]. It wraps
//
//   - an [*UnsupportedError] if the host offers no login, or none that this package
//     knows;
//   - a [*RefusedError] if the user or the host refuses, in the browser or later;
//   - a [*PortError] if none of the ports is free;
//   - a *failure.Error if it is not known what the host offers, and a
//     *disco.ServiceError if it is nonsense;
//   - disco.ErrInsecure if an endpoint is not https;
//   - auth.ErrTooLarge if the answer of the token endpoint is, and
//     auth.ErrInvalidToken if the token in it could never be sent;
//   - context.DeadlineExceeded if no answer came within Timeout;
//   - what Open, the context, or the Store returned.
//
// If all went well but storing the token, the Result is returned beside the error,
// so that the token is not lost. Otherwise one of the two is nil.
//
// Sources that have been asked for the token of the host before may remember that
// there was none: see [auth.Invalidator].
func (c *Client) Login(ctx context.Context, host svchost.Hostname) (*Result, error) {
	r, err := c.login(ctx, host)
	return r, failed("log in to", host, err)
}

func (c *Client) login(ctx context.Context, host svchost.Hostname) (*Result, error) {
	if host.IsZero() {
		return nil, errNoHost
	}
	if c.Open == nil {
		return nil, errNoOpen
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
	r, err := c.run(ctx, f, l)
	success = err == nil
	return r, err
}

// run takes the flow from the browser to the token in the store.
func (c *Client) run(ctx context.Context, f *flow, l *listener) (*Result, error) {
	code, err := c.ask(ctx, f, l)
	if err != nil {
		return nil, err
	}
	r, err := c.exchange(ctx, f, code)
	if err != nil {
		return nil, err
	}
	if c.Store == nil {
		return r, nil
	}
	if err := c.Store.Save(ctx, r.Host, r.Token); err != nil {
		return r, fmt.Errorf("logged in, but the token could not be stored: %w", httpx.Scrub(err, nil, r.Token.Reveal()))
	}
	return r, nil
}

// Logout makes the Store forget the token of host, as the CLI does. No request is
// made, and the token stays good for whoever else has it: only the host's own pages
// can revoke it. That there is no token is no error.
//
// For an alias, host must be [Result.Host]. Any error is a [*failure.Error], and wraps what
// the Store returned.
func (c *Client) Logout(ctx context.Context, host svchost.Hostname) error {
	err := errNoStore
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
