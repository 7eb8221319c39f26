package regtest

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
)

// Where files are served.
const (
	filesPath    = "/releases/"
	packagesPath = "/packages/"
	opaquePath   = "/get"
)

// A URLForm is a way to write the URL of a file in a document.
type URLForm int

// The forms of URLs.
const (
	Usual        URLForm = iota // the one that is the most common there
	Absolute                    // https://HOST/releases/….zip
	RootRelative                // /releases/….zip
	Relative                    // ../../releases/….zip
	Opaque                      // /get?id=…, with nothing in the path that tells what it is
	FileName                    // ….zip, for mirrors only
	InDownload                  // download/….zip, for mirrors only
)

// A link is a reference to a file.
type link struct {
	path   string // in the form Absolute, with escapes
	name   string // for the forms FileName and InDownload
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

// checkLink returns why files cannot be referred to in this way by a registry.
func checkLink(origin string, form URLForm) error {
	if form < Usual || form > Opaque {
		return fmt.Errorf("a registry has no URLs of the form %d", form)
	}
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Path != "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("origin %q is not in the form https://HOST", origin)
	}
	return nil
}

// escape returns the path of these segments.
func escape(segments ...string) string {
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}
