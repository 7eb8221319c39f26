package module

import (
	"io"
	"strings"

	"golang.org/x/net/html"
)

// MaxPage is how many bytes of a page [ParseMeta] looks at.
const MaxPage = 64 << 10

// ParseMeta returns the location that an HTML page names by a tag
//
//	<meta name="terraform-get" content="LOCATION">
//
// in its head, or "" if its first [MaxPage] bytes have no such tag. If there are several,
// the first one counts. Tags in comments, scripts, styles and other elements without markup
// are ignored. Names are compared without case. Malformed pages are not an error: the error
// is that of r.
func ParseMeta(r io.Reader) (string, error) {
	z := html.NewTokenizer(io.LimitReader(r, MaxPage))
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			if err := z.Err(); err != io.EOF {
				return "", err
			}
			return "", nil
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			name, _ := z.TagName()
			switch {
			case string(name) == "body", string(name) == "head" && kind == html.EndTagToken:
				return "", nil
			case string(name) == "meta":
				if location := metaLocation(z); location != "" {
					return location, nil
				}
			}
		}
	}
}

// metaLocation returns the location that the tag names. Of an attribute that occurs twice
// the first counts.
func metaLocation(z *html.Tokenizer) string {
	attributes := map[string]string{}
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		if _, ok := attributes[string(key)]; !ok {
			attributes[string(key)] = string(value)
		}
	}
	if !strings.EqualFold(attributes["name"], "terraform-get") {
		return ""
	}
	return strings.TrimSpace(attributes["content"])
}
