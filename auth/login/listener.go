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
	maxHeader      = 64 << 10         // bytes of a request's header, with the code in the URL
	requestTimeout = 10 * time.Second // for reading a request
	pageTimeout    = 2 * time.Second  // for sending the last page
)

// callbackPath is the path of the redirect URL, as in the CLI. Hosts permit only this path.
const callbackPath = "/login"

// A listener waits at localhost for the redirect of the browser.
type listener struct {
	nets   []net.Listener // one for each address of "localhost"
	port   string
	server *http.Server
	logger *slog.Logger

	state       string
	host        svchost.Hostname
	answers     chan url.Values // receives the parameters of the redirect
	answered    atomic.Bool     // the redirect has arrived
	otherStates atomic.Int64    // number of requests with another state
	over        context.Context // ends with the login
	end         context.CancelFunc
	success     bool          // result of the login, set before end is called
	shown       chan struct{} // closed when the browser has the last page

	connections connections
	serving     sync.WaitGroup
}

// newListener returns a listener for the redirect with this state.
func newListener(state string, host svchost.Hostname, logger *slog.Logger) *listener {
	l := &listener{state: state, host: host, logger: logger, answers: make(chan url.Values, 1), shown: make(chan struct{})}
	l.over, l.end = context.WithCancel(context.Background())
	return l
}

// listen listens at one of the ports, in random order. It listens at both addresses that a
// browser can use for "localhost", so that another user cannot listen at one of them.
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

// listenAt listens at the port of all addresses.
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

// redirect returns the redirect URL.
func (l *listener) redirect() string { return "http://localhost:" + l.port + callbackPath }

// serve starts the server.
func (l *listener) serve() {
	l.server = &http.Server{
		Handler:           l,
		ReadHeaderTimeout: requestTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          stdlog.New(io.Discard, "", 0), // the code could be logged
		ConnState:         l.connState,
	}
	l.server.SetKeepAlivesEnabled(false)
	for _, n := range l.nets {
		l.serving.Go(func() { _ = l.server.Serve(n) }) // which returns when it is closed
	}
}

// otherAnswers returns a note about refused requests for an error.
func (l *listener) otherAnswers() string {
	if n := l.otherStates.Load(); n > 0 {
		return fmt.Sprintf(" (refused requests with the state of another login: %d)", n)
	}
	return ""
}

// finish shows the result in the browser, and closes the port and all connections.
func (l *listener) finish(success bool) {
	l.success = success
	l.end()
	if l.answered.Load() {
		select {
		case <-l.shown:
		case <-time.After(pageTimeout):
		}
	}
	_ = l.server.Close()
	l.serving.Wait()
	l.connections.open.Wait()
}

// ServeHTTP answers the browser and any other client.
func (l *listener) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.ContentLength != 0 {
		// The body is not read, and the server must not wait for it.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
	status, query := l.read(req)
	if status == http.StatusOK && !l.answered.CompareAndSwap(false, true) {
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
	case <-req.Context().Done():
	}
}

// read returns the parameters of the redirect with the status 200, or the status of a refused
// request.
func (l *listener) read(req *http.Request) (status int, query url.Values) {
	// A name of another site can resolve to 127.0.0.1 (DNS rebinding).
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
		l.otherStates.Add(1)
		return http.StatusForbidden, nil
	}
	return http.StatusOK, query
}
