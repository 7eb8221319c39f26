package httpx

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tofureg/tofureg/internal/weburl"
)

const (
	maxErrorBody = 4 << 10 // read of an error answer
	maxMessage   = 200     // shown of it
)

// readMessage returns what the server says in the body of an answer that is no
// success, as one printable line, or "". A body that breaks off is used as far
// as it came.
func (f *fetch) readMessage(resp *http.Response) string {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return weburl.Clean(weburl.OneLine(weburl.RedactText(f.secrets.maskCut(message(body, media)))), maxMessage)
}

// messageOf returns what [fetch.readMessage] has read.
func messageOf(resp *http.Response) string {
	if b, ok := resp.Body.(buffered); ok {
		return string(b.data)
	}
	return ""
}

// message picks the words out of an error body: of JSON the members that
// registries use, of an object store's XML code and message, of text all. HTML
// and binary data say nothing.
func message(body []byte, media string) string {
	text := strings.TrimSpace(strings.TrimPrefix(string(body), "\ufeff"))
	switch {
	case text == "", strings.Contains(media, "html"), !isText(text):
		return ""
	case text[0] == '<':
		return xmlMessage(text)
	}
	var doc any
	if json.Unmarshal([]byte(text), &doc) == nil {
		if said := jsonMessage(doc, 3); said != "" {
			return said
		}
	}
	return text
}

// jsonMessage joins the texts under the names that servers use, the first name
// that has any. Errors may be strings, objects, or a list of either.
func jsonMessage(v any, depth int) string {
	if depth < 0 {
		return ""
	}
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var said []string
		for _, e := range v {
			if s := jsonMessage(e, depth-1); s != "" {
				said = append(said, s)
			}
		}
		return strings.Join(said, "; ")
	case map[string]any:
		for _, name := range []string{"errors", "error", "detail", "message", "title", "error_description"} {
			if s := jsonMessage(v[name], depth-1); s != "" {
				return s
			}
		}
	}
	return ""
}

var xmlMessageParts = regexp.MustCompile(`<(?:Code|Message)>([^<>]*)</`)

// xmlMessage returns code and message of an error of the S3 kind, which Google
// and Azure use too. Other markup says nothing.
func xmlMessage(text string) string {
	var said []string
	for _, m := range xmlMessageParts.FindAllStringSubmatch(text, 2) {
		said = append(said, m[1])
	}
	return strings.Join(said, ": ")
}

// isText reports whether s is UTF-8 without control characters other than white
// space. The last character may be cut off.
func isText(s string) bool {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 && utf8.FullRuneInString(s[i:]) || r < ' ' && !strings.ContainsRune("\t\r\n\f\v\x1b", r) {
			return false
		}
		i += size
	}
	return true
}
