package login

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// maxConns is the maximum number of open connections. A browser needs a few.
const maxConns = 64

// connections are the open connections to a listener. Any program on this machine, and any
// page in the browser, can open connections.
type connections struct {
	mu   sync.Mutex
	list []net.Conn     // the oldest first
	open sync.WaitGroup // counts all connections
}

// connState is http.Server.ConnState.
func (l *listener) connState(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.connections.open.Add(1)
		if l.over.Err() != nil {
			_ = conn.Close() // the server may already have closed the other connections
		} else if surplus := l.connections.add(conn, l.answered.Load()); surplus != nil {
			_ = surplus.Close()
		}
	case http.StateClosed, http.StateHijacked:
		l.connections.remove(conn)
		l.connections.open.Done()
	}
}

// add adds a connection. If there are too many, it returns the one to close: the oldest, so
// that idle connections do not block the browser, or conn if the browser has answered.
func (c *connections) add(conn net.Conn, answered bool) (surplus net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) >= maxConns {
		if answered {
			return conn
		}
		surplus = c.list[0]
		c.list = slices.Delete(c.list, 0, 1)
	}
	c.list = append(c.list, conn)
	return surplus
}

// remove removes a closed connection.
func (c *connections) remove(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.list, conn); i >= 0 {
		c.list = slices.Delete(c.list, i, i+1)
	}
}
