package module

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
)

// veto asks about the host of a repository. A host that has another spelling, too, is
// refused, since a comparison would be of no use.
func (g *Git) veto(u *url.URL) error {
	if g.VetoHost == nil || u.Scheme == "file" {
		return nil
	}
	err := checkSpelling(u.Hostname())
	host := strings.ToLower(u.Host)
	if err == nil {
		err = g.VetoHost(host)
	}
	if err != nil {
		return fmt.Errorf("host %s is not allowed: %w", clean(host, 200), err)
	}
	return nil
}

func checkSpelling(name string) error {
	_, err := netip.ParseAddr(name)
	last := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	hex, isHex := strings.CutPrefix(last, "0x")
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }):
		return errors.New("it is not in ASCII")
	case last == "":
		return errors.New("it ends with a dot")
	case err != nil && (strings.Trim(last, "0123456789") == "" || isHex && strings.Trim(hex, "0123456789abcdef") == ""):
		// Some resolvers take 127.1 and 0x7f000001 for 127.0.0.1.
		return errors.New("it is an IPv4 address in an unusual form")
	}
	return nil
}
