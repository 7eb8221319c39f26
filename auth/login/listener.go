package login

import (
	"context"
	"crypto/subtle"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/weburl"
)

const (
	maxHeader = 64 << 10         // of a request, the code in its URL included
	slowest   = 10 * time.Second // that a request may be; it has no body
	lastWords = 2 * time.Second  // to show the last page
)

// callbackPath is the one at which the CLI waits, and which hosts have on their
// lists of permitted redirects.
const callbackPath = "/login"

// A listener waits on the loopback interface for the browser to come back.
type listener struct {
	nets   []net.Listener // one for each address that "localhost" may mean
	port   string
	server *http.Server
	logger *slog.Logger

	state   string
	host    svchost.Hostname
	answers chan url.Values // gets the one answer
	taken   atomic.Bool     // there is one
	strays  atomic.Int64    // requests with another state
	over    context.Context // ends with the login
	end     context.CancelFunc
	success bool          // set before end is called
	shown   chan struct{} // closed when the browser has been told

	crowd   crowd
	serving sync.WaitGroup
}

// newListener returns a listener that waits for the answer with the state.
func newListener(state string, host svchost.Hostname, logger *slog.Logger) *listener {
	l := &listener{state: state, host: host, logger: logger, answers: make(chan url.Values, 1), shown: make(chan struct{})}
	l.over, l.end = context.WithCancel(context.Background())
	return l
}

// listen takes one of the ports, in random order. Browsers may take "localhost" for
// either address of the loopback interface, so the port is taken at both, lest another
// user listens at one of them.
func (l *listener) listen(ctx context.Context, first, last int) (err error) {
	addresses := []string{"127.0.0.1"}
	if probe, err := new(net.ListenConfig).Listen(ctx, "tcp6", "[::1]:0"); err == nil {
		_ = probe.Close()
		addresses = append(addresses, "::1")
	}
	for _, i := range rand.Perm(last - first + 1) {
		if ctx.Err() != nil {
			return fault.Ended(ctx)
		}
		l.port = strconv.Itoa(first + i)
		if l.nets, err = listenAt(ctx, addresses, l.port); err == nil {
			return nil
		}
	}
	return &PortError{Min: first, Max: last, Err: err}
}

// listenAt takes the port at all addresses, or at none.
func listenAt(ctx context.Context, addresses []string, port string) (nets []net.Listener, err error) {
	for _, address := range addresses {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(address, port))
		if err != nil {
			for _, l := range nets {
				_ = l.Close()
			}
			return nil, err
		}
		nets = append(nets, l)
	}
	return nets, nil
}

// redirect returns the URL to which the browser comes back.
func (l *listener) redirect() string { return "http://localhost:" + l.port + callbackPath }

// serve starts to answer at the port.
func (l *listener) serve() {
	l.server = &http.Server{
		Handler:           l,
		ReadHeaderTimeout: slowest,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          stdlog.New(io.Discard, "", 0), // it would have the URL, code included
		ConnState:         l.keep,
	}
	l.server.SetKeepAlivesEnabled(false)
	for _, n := range l.nets {
		l.serving.Go(func() { _ = l.server.Serve(n) }) // which returns when it is closed
	}
}

// seen tells, for an error, of the requests that were answers to other logins.
func (l *listener) seen() string {
	if n := l.strays.Load(); n > 0 {
		return fmt.Sprintf(" (requests with another state than this login has, which were refused: %d)", n)
	}
	return ""
}

// finish tells the browser that is waiting how the login ended, and closes the port.
// When it returns, nothing of the listener is left.
func (l *listener) finish(success bool) {
	l.success = success
	l.end()
	if l.taken.Load() {
		select {
		case <-l.shown:
		case <-time.After(lastWords):
		}
	}
	_ = l.server.Close()
	l.serving.Wait()
	l.crowd.gone.Wait()
}

// ServeHTTP answers a browser, or whoever else has found the port.
func (l *listener) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.ContentLength != 0 {
		// The server would wait for a body, which never need come. Nobody reads it.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
	status, query := l.read(req)
	if status == http.StatusOK && !l.taken.CompareAndSwap(false, true) {
		status = http.StatusGone
	}
	if status != http.StatusOK {
		log(req.Context(), l.logger, "login: request refused", slog.Int("status", status),
			slog.String("method", weburl.Clean(req.Method, 20)), slog.String("host", weburl.Clean(req.Host, 100)),
			slog.String("path", weburl.Clean(req.URL.EscapedPath(), 100)))
		show(w, status, refusal(status))
		return
	}
	defer close(l.shown)
	l.answers <- query
	select {
	case <-l.over.Done():
		status, m := outcome(l.host, l.success)
		show(w, status, m)
	case <-req.Context().Done(): // the browser has left
	}
}

// read returns the parameters of an answer to this login, with the status 200, or
// the status with which the request is refused.
func (l *listener) read(req *http.Request) (status int, query url.Values) {
	// A page elsewhere can have its own name lead to 127.0.0.1, and make requests
	// that a browser takes for its own.
	if host := strings.ToLower(req.Host); host != "localhost:"+l.port && host != "127.0.0.1:"+l.port {
		return http.StatusMisdirectedRequest, nil
	}
	if req.URL.EscapedPath() != callbackPath {
		return http.StatusNotFound, nil
	}
	if req.Method != http.MethodGet {
		return http.StatusMethodNotAllowed, nil
	}
	query, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil || len(query["state"]) != 1 || len(query["code"]) > 1 || len(query["error"]) > 1 {
		return http.StatusBadRequest, nil
	}
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(l.state)) != 1 {
		l.strays.Add(1)
		return http.StatusForbidden, nil
	}
	return http.StatusOK, query
}
