package regtest

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// RoundTrip implements [http.RoundTripper]. It answers requests to any host in this process,
// without starting goroutines.
func (r *Registry) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	if s := req.URL.Scheme; s != "https" && s != "http" {
		return nil, fmt.Errorf("regtest: unsupported protocol scheme %q", s)
	}
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	rep, err := r.reply(&call{
		ctx:    req.Context(),
		method: method(req.Method),
		scheme: req.URL.Scheme,
		host:   normalHost(req.URL.Scheme, host),
		path:   req.URL.EscapedPath(),
		query:  req.URL.RawQuery,
		header: req.Header,
		form:   postedForm(req),
		gunzip: gunzips(req),
	})
	if err == errDropped {
		err = &net.OpError{Op: "read", Net: "tcp", Err: err}
	}
	if err != nil {
		return nil, err
	}
	resp := rep.response(req)
	if gunzips(req) && strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		gunzip(resp)
	}
	return resp, nil
}

func (rep *reply) response(req *http.Request) *http.Response {
	for name, values := range rep.header {
		if len(values) == 0 {
			delete(rep.header, name)
		}
	}
	return &http.Response{
		Status:     strconv.Itoa(rep.status) + " " + http.StatusText(rep.status),
		StatusCode: rep.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        rep.header,
		Body:          rep.body,
		ContentLength: rep.length,
		Request:       req,
	}
}

// method returns the method of a request; empty means GET.
func method(s string) string {
	if s == "" {
		return http.MethodGet
	}
	return s
}
