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
	maxErrorBody = 4 << 10 // bytes that are read of an error answer
	maxMessage   = 200     // bytes of its message
)

// readMessage returns the message in the body of an unsuccessful answer as one printable line, or
// "". The body may be incomplete.
func (f *fetch) readMessage(resp *http.Response) string {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return weburl.Clean(weburl.OneLine(weburl.RedactText(f.secrets.maskTruncated(message(body, media)))), maxMessage)
}

// message returns the message in an error body: of JSON the members that registries use, of XML the
// code and message of an object store, of text all. HTML and binary data contain no message.
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
		if text := jsonMessage(doc, 3); text != "" {
			return text
		}
	}
	return text
}

// jsonMessage returns the texts of the first of the members that servers use. Errors may be strings,
// objects or lists of them.
func jsonMessage(v any, depth int) string {
	if depth < 0 {
		return ""
	}
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var texts []string
		for _, e := range v {
			if s := jsonMessage(e, depth-1); s != "" {
				texts = append(texts, s)
			}
		}
		return strings.Join(texts, "; ")
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

// xmlMessage returns code and message of an S3 error, which Google and Azure use too.
func xmlMessage(text string) string {
	var texts []string
	for _, m := range xmlMessageParts.FindAllStringSubmatch(text, 2) {
		texts = append(texts, m[1])
	}
	return strings.Join(texts, ": ")
}

// isText reports whether s is UTF-8 without control characters, except white space and escape. The
// last character may be incomplete.
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
