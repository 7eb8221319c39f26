package login

import (
	"context"
	"net"
	"net/http"

	"github.com/tofureg/tofureg/disco/svchost"
)

// The limits, for tests of n and n+1.
const (
	MaxAnswer = maxAnswer
	MaxConns  = maxConns
)

// Callback returns the handler of the port, for a login with this state that succeeds as
// soon as the browser answers. Taken returns the code in the answer.
func Callback(port, state string, host svchost.Hostname) (h http.Handler, taken func() string) {
	l := newListener(state, host, nil)
	l.port, l.success = port, true
	l.end()
	return l, func() string {
		select {
		case query := <-l.answers:
			return query.Get("code")
		default:
			return ""
		}
	}
}

// Late passes a new connection to a listener whose login has ended.
func Late(conn net.Conn) {
	l := newListener("", svchost.Hostname{}, nil)
	l.end()
	l.connState(conn, http.StateNew)
}

// Page returns the address to which Login would send the browser.
func (c *Client) Page(ctx context.Context, host svchost.Hostname) (string, error) {
	f, err := c.newFlow(ctx, host)
	if err != nil {
		return "", err
	}
	f.config.RedirectURL = "http://localhost:1024/login"
	return f.pageURL(), nil
}

// Exchange exchanges a code at the token endpoint.
func (c *Client) Exchange(ctx context.Context, host svchost.Hostname, code string) (*Result, error) {
	f, err := c.newFlow(ctx, host)
	if err != nil {
		return nil, err
	}
	f.config.RedirectURL = "http://localhost:1024/login"
	return c.exchange(ctx, f, code)
}
