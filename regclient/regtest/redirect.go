package regtest

import (
	"net/http"
	"net/url"
	"strings"
)

// redirect returns a redirect to the hop after h. base is Fault.Redirect; empty means the same
// host.
func (c *call) redirect(base string, h hop, status int) *answer {
	if status == 0 {
		status = http.StatusFound
	}
	if !h.loop {
		h.at++
	}
	a := &answer{status: status, header: http.Header{"Location": {c.location(base, h)}}}
	a.setBody(nil)
	return a
}

func (c *call) location(base string, h hop) string {
	path, _ := cutHop(c.path)
	origin, query := "", c.query
	if base != "" && base != "/" {
		u, err := url.Parse(base)
		if err != nil || u.Scheme == "" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
			return base
		}
		origin = c.origin(u.Scheme + "://" + u.Host)
		query = strings.Trim(query+"&"+u.RawQuery, "&")
	}
	if query != "" {
		query = "?" + query
	}
	return origin + h.prefix() + path + query
}
