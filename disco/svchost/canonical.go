package svchost

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tofureg/tofureg/internal/weburl"
)

// defaultPorts are the default ports of schemes.
var defaultPorts = map[string]string{"https": "443", "http": "80", "ssh": "22", "git": "9418"}

// Canonical returns the host of u as "host" or "host:port" in one form for all spellings, for checks such as
// VetoHost of [github.com/tofureg/tofureg/transport.Settings]: names in lower-case ASCII, IP addresses in the
// form of [netip.Addr] without a zone, IPv4 addresses in IPv6 form as IPv4, and no default port. urlHost, for
// the URL to request, has the zone.
//
// It returns an error if u has no host or an invalid port, or if a resolver may interpret the host as an IP
// address in another form, such as 127.1.
func Canonical(u *url.URL) (host, urlHost string, err error) {
	if u.Opaque != "" || u.Hostname() == "" {
		return "", "", errors.New("the URL has no host")
	}
	text := strings.ToLower(u.Host)
	if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		h, err := FromWire(u.Hostname())
		if err != nil {
			return "", "", fmt.Errorf("the URL has an invalid host: %w", err)
		}
		if text = h.String(); u.Port() != "" {
			text += ":" + u.Port()
		}
	}
	split := url.URL{Host: text}
	name, zone, err := canonicalName(split.Hostname(), text[0] == '[')
	if err != nil {
		return "", "", fmt.Errorf("the URL has an invalid host %q: %w", weburl.Clean(text, weburl.MaxShown), err)
	}
	port, err := canonicalPort(split.Port(), strings.ToLower(u.Scheme))
	if err != nil {
		return "", "", err
	}
	if !strings.Contains(name, ":") {
		return name + port, name + port, nil
	}
	return "[" + name + "]" + port, "[" + name + zone + "]" + port, nil
}

// canonicalPort returns ":port", or "" for the default port of the scheme.
func canonicalPort(port, scheme string) (string, error) {
	if port == "" {
		return "", nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("the URL has an invalid port %q", weburl.Clean(port, 20))
	}
	if port = strconv.FormatUint(n, 10); port == defaultPorts[scheme] {
		return "", nil
	}
	return ":" + port, nil
}

// canonicalName returns an error for invalid and ambiguous names. A name in brackets is an IPv6
// address. url.Parse has checked it, but not its zone.
func canonicalName(name string, brackets bool) (canonical, zone string, err error) {
	addr, err := netip.ParseAddr(name)
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return !isHostRune(r) && (!brackets || r != '%') }):
		// url.Parse accepts quotes, angle brackets and others.
		return "", "", errors.New("it contains an invalid character")
	case err == nil && addr.Zone() != "":
		zone = "%" + addr.Zone()
		fallthrough
	case err == nil:
		return addr.Unmap().WithZone("").String(), zone, nil
	case brackets:
		return "", "", errors.New("it is not an IPv6 address")
	case strings.Contains(name, ":"): // url.Parse accepts it without a scheme
		return "", "", errors.New("it contains a colon")
	case strings.HasSuffix(name, "."):
		return "", "", errors.New("it ends with a dot")
	case isNumber(name[strings.LastIndexByte(name, '.')+1:]):
		// Some resolvers interpret 127.1 and 0x7f000001 as 127.0.0.1.
		return "", "", errors.New("it is an IPv4 address in an unusual form")
	}
	return name, "", nil
}

func isHostRune(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~:", r)
}

// isNumber reports whether a resolver may interpret the last label of a name as a number, and so
// the name as an IP address.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
