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

// Callback returns what answers at a port, for a login with this state that ends well
// as soon as it is answered. Taken returns the code that was taken.
func Callback(port, state string, host svchost.Hostname) (h http.Handler, taken func() string) {
	l := &listener{port: port}
	l.prepare(state, host, nil)
	l.success = true
	close(l.over)
	return l, func() string {
		select {
		case query := <-l.answers:
			return query.Get("code")
		default:
			return ""
		}
	}
}

// Late is a connection that comes when the login has ended.
func Late(conn net.Conn) {
	l := &listener{}
	l.prepare("", svchost.Hostname{}, nil)
	close(l.over)
	l.keep(conn, http.StateNew)
}

// Page returns the address to which the browser would be sent.
func (c *Client) Page(ctx context.Context, host svchost.Hostname) (string, error) {
	s, err := c.service(ctx, host)
	if err != nil {
		return "", err
	}
	return newFlow(s, "http://localhost:1024/login").pageURL(), nil
}

// Exchange exchanges a code at the token endpoint.
func (c *Client) Exchange(ctx context.Context, host svchost.Hostname, code string) (*Result, error) {
	s, err := c.service(ctx, host)
	if err != nil {
		return nil, err
	}
	return c.exchange(ctx, newFlow(s, "http://localhost:1024/login"), code)
}
