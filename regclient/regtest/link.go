package regtest

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
)

// The paths of files.
const (
	filesPath    = "/releases/"
	packagesPath = "/packages/"
	opaquePath   = "/get"
)

// A URLForm is a form of the URL of a file in a document.
type URLForm int

// The forms of URLs.
const (
	Usual        URLForm = iota // the default of the field
	Absolute                    // https://HOST/releases/….zip
	RootRelative                // /releases/….zip
	Relative                    // ../../releases/….zip
	Opaque                      // /get?id=…
	FileName                    // ….zip, only for mirrors
	InDownload                  // download/….zip, only for mirrors
)

// A link is a reference to a file.
type link struct {
	path   string // in the form Absolute, with escapes
	name   string // for the forms FileName and InDownload
	form   URLForm
	origin string // empty for the origin of the document
	subdir string // after two slashes; may be empty
	query  string
}

// from returns the text of the reference in the answer to a call.
func (l link) from(c *call) string {
	path, query := l.path, l.query
	if l.form == Opaque {
		path = opaquePath
		query = strings.TrimSuffix("id="+hex.EncodeToString([]byte(l.path))+"&"+query, "&")
	}
	switch {
	case l.origin != "" || l.form == Absolute || l.form == Usual:
		path = c.origin(l.origin) + path
	case l.form == Relative:
		path = strings.Repeat("../", max(strings.Count(c.plain, "/")-1, 0)) + path[1:]
	case l.form == FileName:
		path = url.PathEscape(l.name)
	case l.form == InDownload:
		path = downloadDir + "/" + url.PathEscape(l.name)
	}
	if l.subdir != "" {
		path += "//" + l.subdir
	}
	if query != "" {
		path += "?" + query
	}
	return path
}

// origin returns scheme and host of a URL as the client can reach it. Empty means those of the
// request.
func (c *call) origin(other string) string {
	switch {
	case other == "":
		return c.scheme + "://" + c.host
	case c.server != nil:
		return c.server.origin(other, c.host)
	}
	return other
}

// checkLink returns why a registry cannot refer to files in this way.
func checkLink(origin string, form URLForm) error {
	if form < Usual || form > Opaque {
		return fmt.Errorf("invalid URL form %d", form)
	}
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Path != "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("invalid origin %q, want https://HOST", origin)
	}
	return nil
}

// escape returns the escaped path of the segments.
func escape(segments ...string) string {
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}
