package module

import (
	"bytes"
	"html"
	"io"
	"strings"
)

// MaxPage is how many bytes of a page [ParseMeta] looks at.
const MaxPage = 64 << 10

// ParseMeta returns the location that an HTML page names by a tag
//
//	<meta name="terraform-get" content="LOCATION">
//
// in its head, "" if there is none in its first [MaxPage] bytes. Of several the first
// counts. What stands in comments, scripts, styles and other elements whose content
// is not markup does not. Upper and lower case make no difference in names, and no
// page is malformed enough to be an error: the error is that of r.
func ParseMeta(r io.Reader) (string, error) {
	page, err := io.ReadAll(io.LimitReader(r, MaxPage))
	if err != nil {
		return "", err
	}
	s := scanner{rest: page}
	for {
		tag, ok := s.tag()
		if !ok || tag.name == "body" || tag.name == "/head" {
			return "", nil
		}
		if tag.name == "meta" && strings.EqualFold(tag.get("name"), "terraform-get") {
			if content := strings.TrimSpace(tag.get("content")); content != "" {
				return content, nil
			}
		}
		if raw[tag.name] {
			s.skipTo("</" + tag.name)
		}
	}
}

// raw are the elements whose content is text, whatever it looks like.
var raw = map[string]bool{
	"script": true, "style": true, "title": true, "textarea": true, "noscript": true, "template": true,
	"iframe": true, "noframes": true, "noembed": true, "xmp": true,
}

// tag is an opening or, with a slash before its name, a closing tag.
type tag struct {
	name       string // in lower case
	attributes [][2]string
}

func (t tag) get(name string) string {
	for _, a := range t.attributes {
		if a[0] == name {
			return a[1]
		}
	}
	return ""
}

// scanner finds the tags of a page. Each step takes something off rest, so the work
// is linear.
type scanner struct{ rest []byte }

// tag returns the next tag.
func (s *scanner) tag() (tag, bool) {
	for {
		i := bytes.IndexByte(s.rest, '<')
		if i < 0 {
			return tag{}, false
		}
		s.rest = s.rest[i+1:]
		switch {
		case bytes.HasPrefix(s.rest, []byte("!--")):
			s.rest = s.rest[len("!--"):]
			s.skipPast("-->")
		case len(s.rest) > 0 && (s.rest[0] == '!' || s.rest[0] == '?'):
			s.skipPast(">")
		default:
			name := s.name()
			if name == "" || name == "/" {
				continue // a "<" in the text
			}
			t := tag{name: strings.ToLower(name)}
			if !s.attributes(&t) {
				return tag{}, false
			}
			return t, true
		}
	}
}

// name takes the name of a tag.
func (s *scanner) name() string {
	n := 0
	if n < len(s.rest) && s.rest[n] == '/' {
		n++
	}
	for n < len(s.rest) && isNameByte(s.rest[n]) {
		n++
	}
	name := s.rest[:n]
	s.rest = s.rest[n:]
	return string(name)
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == ':'
}

// attributes takes what stands between the name of a tag and its ">". It returns
// false if the page ends before that.
func (s *scanner) attributes(t *tag) bool {
	for {
		s.rest = bytes.TrimLeft(s.rest, " \t\r\n\f/")
		switch {
		case len(s.rest) == 0:
			return false
		case s.rest[0] == '>':
			s.rest = s.rest[1:]
			return true
		}
		name := s.until("=> \t\r\n\f/")
		value := ""
		after := bytes.TrimLeft(s.rest, " \t\r\n\f")
		if len(after) > 0 && after[0] == '=' {
			s.rest = bytes.TrimLeft(after[1:], " \t\r\n\f")
			value = s.value()
			if name == "" {
				continue
			}
		} else if name == "" {
			return false
		}
		t.attributes = append(t.attributes, [2]string{strings.ToLower(name), html.UnescapeString(value)})
	}
}

// value takes the value of an attribute.
func (s *scanner) value() string {
	if len(s.rest) > 0 && (s.rest[0] == '"' || s.rest[0] == '\'') {
		quote := string(s.rest[0])
		s.rest = s.rest[1:]
		value := s.until(quote)
		s.rest = bytes.TrimPrefix(s.rest, []byte(quote))
		return value
	}
	return s.until("> \t\r\n\f")
}

// until takes everything before the first of these characters.
func (s *scanner) until(stop string) string {
	i := bytes.IndexAny(s.rest, stop)
	if i < 0 {
		i = len(s.rest)
	}
	taken := string(s.rest[:i])
	s.rest = s.rest[i:]
	return taken
}

func (s *scanner) skipPast(end string) {
	_, s.rest, _ = bytes.Cut(s.rest, []byte(end))
}

// skipTo drops what stands before end, in whatever case.
func (s *scanner) skipTo(end string) {
	for {
		i := bytes.IndexByte(s.rest, end[0])
		if i < 0 {
			s.rest = nil
			return
		}
		s.rest = s.rest[i:]
		if len(s.rest) >= len(end) && strings.EqualFold(string(s.rest[:len(end)]), end) {
			return
		}
		s.rest = s.rest[1:]
	}
}
