package module

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/tofureg/tofureg/internal/weburl"
)

// veto asks about the host of a repository, in the one form that it has.
func (g *Git) veto(u *url.URL) error {
	if g.VetoHost == nil || u.Scheme == "file" {
		return nil
	}
	host, _, err := weburl.Host(u)
	if err == nil && strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }) {
		err = errors.New("it is not in ASCII") // git has its own way to map it
	}
	if err == nil {
		err = g.VetoHost(host)
	}
	if err != nil {
		return fmt.Errorf("host %s is not allowed: %w", weburl.Clean(strings.ToLower(u.Host), maxInput), err)
	}
	return nil
}
