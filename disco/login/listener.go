package login

import (
	"bytes"
	"context"
	"crypto/subtle"
	"fmt"
	"html/template"
	"io"
	stdlog "log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
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
	maxConns       = 64               // open connections; a browser needs a few
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

	mu      sync.Mutex
	conns   []net.Conn     // at most maxConns, the oldest first
	open    sync.WaitGroup // counts all connections
	serving sync.WaitGroup
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
	return fmt.Errorf("no free port from %d to %d for the redirect of the browser: %w", first, last, err)
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

// connState is http.Server.ConnState. Any program on this machine, and any page in the browser,
// can open connections. If there are too many, it closes the oldest, so that idle connections
// do not block the browser, or the new one if the browser has answered.
func (l *listener) connState(conn net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateNew:
		l.open.Add(1)
		full := len(l.conns) == maxConns
		if l.over.Err() != nil || full && l.answered.Load() {
			_ = conn.Close() // also if the server may already have closed the other connections
			return
		}
		if full {
			_ = l.conns[0].Close()
			l.conns = slices.Delete(l.conns, 0, 1)
		}
		l.conns = append(l.conns, conn)
	case http.StateClosed, http.StateHijacked:
		if i := slices.Index(l.conns, conn); i >= 0 {
			l.conns = slices.Delete(l.conns, i, i+1)
		}
		l.open.Done()
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
	l.open.Wait()
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
		title, text := "Unexpected request", "A program is waiting here for the result of a login. This request does not belong to it."
		switch status {
		case http.StatusForbidden:
			text = "This is the result of another login. Please open the newest link of the program that waits for your login."
		case http.StatusGone:
			title, text = "Already answered", "The program already has the result of this login."
		}
		show(w, status, title, text)
		return
	}
	defer close(l.shown)
	l.answers <- query
	select {
	case <-l.over.Done():
		if l.success {
			show(w, http.StatusOK, "Logged in", "The program now has a token for "+l.host.Display()+". You can close this window.")
		} else {
			show(w, http.StatusBadGateway, "Not logged in", "The login to "+l.host.Display()+" failed. The program shows the reason. You can close this window.")
		}
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

// page is a template without scripts and external resources.
var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<style>body { font-family: sans-serif; max-width: 36em; margin: 4em auto; padding: 0 1em; line-height: 1.5 }</style>
</head>
<body>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
</body>
</html>
`))

// show sends a complete page, so that the connection can be closed afterwards.
func show(w http.ResponseWriter, status int, title, text string) {
	var body bytes.Buffer
	if err := page.Execute(&body, struct{ Title, Text string }{title, text}); err != nil {
		status = http.StatusInternalServerError // never happens: the template is fixed
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the URL contains the code
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	if status == http.StatusMethodNotAllowed {
		h.Set("Allow", http.MethodGet)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // fails if the browser has closed the connection
	_ = http.NewResponseController(w).Flush()
}
