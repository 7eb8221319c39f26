package regtest

import (
	"io"
	"net/http"
)

// ServeHTTP implements [http.Handler]. It accepts every Host header and uses it in URLs. If a
// fault drops the connection, it panics with [http.ErrAbortHandler].
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.serve(w, req, nil) }

func (r *Registry) serve(w http.ResponseWriter, req *http.Request, s *Server) {
	scheme := "http"
	if req.TLS != nil {
		scheme = "https"
	}
	rep, err := r.reply(&call{
		ctx:     req.Context(),
		method:  method(req.Method),
		scheme:  scheme,
		host:    normalHost(scheme, req.Host),
		path:    req.URL.EscapedPath(),
		query:   req.URL.RawQuery,
		header:  req.Header,
		form:    postedForm(req),
		server:  s,
		anyHost: true,
	})
	if err == nil {
		defer rep.body.Close()
		err = rep.write(w)
	}
	if err != nil {
		// The client has disconnected, or a fault drops the connection.
		panic(http.ErrAbortHandler)
	}
}

// write sends the reply. It returns an error where the body breaks off.
func (rep *reply) write(w http.ResponseWriter) error {
	for name, values := range rep.header {
		w.Header()[name] = values
	}
	if len(rep.header["Content-Length"]) == 0 {
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(rep.status)
	flush := http.NewResponseController(w).Flush
	// Sent bytes must arrive before a pause or a break.
	eager := rep.length < 0 || rep.body.how.Break != NoBreak || rep.body.how.Rate > 0
	if eager {
		_ = flush()
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := rep.body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			if eager {
				_ = flush()
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			_ = flush()
			return err
		}
	}
}
