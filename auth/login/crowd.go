package login

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// maxConns is how many connections there are at a time. A browser makes a few.
const maxConns = 64

// A crowd is the connections to a listener. Any program of this machine can make
// some, and so can any page in the browser.
type crowd struct {
	mu   sync.Mutex
	list []net.Conn     // the oldest first
	gone sync.WaitGroup // for all of them
}

// keep is told of each connection that comes or goes.
func (l *listener) keep(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.crowd.gone.Add(1)
		if l.over.Err() != nil {
			_ = conn.Close() // the server may have closed all others already
		} else if surplus := l.crowd.enter(conn, l.taken.Load()); surplus != nil {
			_ = surplus.Close()
		}
	case http.StateClosed, http.StateHijacked:
		l.crowd.leave(conn)
		l.crowd.gone.Done()
	}
}

// enter returns the connection that has to be closed for conn, or nil. If there are too
// many that is the oldest one, which has had its time: otherwise those that say nothing
// would keep the browser out. When it has come with the answer, it is conn itself.
func (c *crowd) enter(conn net.Conn, answered bool) (surplus net.Conn) {
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

// leave forgets a connection that is closed.
func (c *crowd) leave(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.list, conn); i >= 0 {
		c.list = slices.Delete(c.list, i, i+1)
	}
}
