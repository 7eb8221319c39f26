package failure

import (
	"net/url"

	"github.com/tofureg/tofureg/internal/weburl"
)

// RedactURL returns the scheme, host and path of a URL for errors and logs. "?..." stands for a query, "..." for a part of
// the path that may be a token, and for all that follows a scheme without "//". User information and the fragment are
// left out. The result is printable and has at most 512 bytes. For nil it is empty.
func RedactURL(u *url.URL) string { return weburl.Redact(u) }

// RedactText redacts each URL in a text, such as an error of another library, also relative URLs and those with the
// slashes of JSON. For a printable text, see [Printable].
func RedactText(text string) string { return weburl.RedactText(text) }

// Printable returns a text of another party for errors and logs. It escapes control characters, line ends, marks for the
// direction of writing and invalid UTF-8 as in a Go string literal. It shortens a result of more than max bytes, which
// then ends in "...".
func Printable(text string, max int) string { return weburl.Clean(text, max) }
