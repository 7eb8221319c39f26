package failure

import (
	"net/url"

	"github.com/tofureg/tofureg/internal/weburl"
)

// RedactURL returns a URL for errors and logs: the scheme, the host, and the path without what may be a token. "?..."
// stands for a query, "..." for a part of the path and for all that follows a scheme without "//". User information
// and the fragment are left out. The result is printable and has at most 512 bytes. For nil it is empty.
func RedactURL(u *url.URL) string { return weburl.Redact(u) }

// RedactText redacts each URL in a text, such as an error of another library, also relative URLs and those with
// the slashes of JSON. It does not make the text printable; see [Printable].
func RedactText(text string) string { return weburl.RedactText(text) }

// Printable returns a text of another party for errors, warnings and logs: control characters, line ends, marks for
// the direction of writing and invalid UTF-8 are escaped as in a Go string literal. A result of more than max bytes is
// shortened and ends in "...".
func Printable(text string, max int) string { return weburl.Clean(text, max) }
