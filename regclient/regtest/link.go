package regtest

import (
	"encoding/hex"
	"net/url"
	"strings"
)

// Where files are served.
const (
	filesPath    = "/releases/"
	packagesPath = "/packages/"
	opaquePath   = "/get"
)

// A link is a reference to a file.
type link struct {
	path   string // in the form Absolute, with escapes
	form   URLForm
	origin string // "": where the reference stands
	subdir string // behind two slashes; "": none
	query  string
}

// from returns the text of the reference in the answer to a call.
func (l link) from(c *call) string {
	path, query := l.path, l.query
	if l.form == Opaque {
		path = opaquePath
		query = strings.TrimSuffix("id="+hex.EncodeToString([]byte(l.path))+"&"+query, "&")
	}
	if l.subdir != "" {
		path += "//" + l.subdir
	}
	if query != "" {
		path += "?" + query
	}
	switch {
	case l.origin != "" || l.form == Absolute:
		return c.origin(l.origin) + path
	case l.form == Relative:
		return strings.Repeat("../", strings.Count(c.plain, "/")-1) + path[1:]
	}
	return path
}

// origin returns the scheme and host of a URL as the client can reach it. Empty
// stands for those that it has asked.
func (c *call) origin(other string) string {
	switch {
	case other == "":
		return c.scheme + "://" + c.host
	case c.server != nil:
		return c.server.origin(other, c.host)
	}
	return other
}

// escape returns the path of these segments.
func escape(segments ...string) string {
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}
