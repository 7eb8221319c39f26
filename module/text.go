package module

import (
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Limits for texts in errors and events, in bytes.
const (
	maxShown = 1000 // of a location
	maxInput = 200  // of a refused text
)

// showAddress returns the URL of a location without secrets and without its query. The
// user of an SSH address is no secret if it is git.
func showAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return showInput(address)
	}
	u.RawQuery, u.ForceQuery = "", false
	shown := weburl.Redact(u)
	if u.User != nil && u.User.String() == "git" {
		shown = strings.Replace(shown, "://", "://git@", 1)
	}
	return shown
}

// showInput returns what an error repeats of a refused text, which need not be a URL.
func showInput(s string) string {
	s, _, _ = strings.Cut(s, "#")
	return weburl.Clean(weburl.MaskPath(fault.Shown(s, maxLocation)), maxInput)
}

// refuse is the error of parsing a location.
func refuse(input, reason string) error { return suggest(input, reason, "") }

func suggest(input, reason, suggestion string) error {
	return &addrs.ParseError{Kind: "module location", Input: showInput(input), Reason: reason, Suggestion: suggestion}
}
