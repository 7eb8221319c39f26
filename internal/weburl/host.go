// Package weburl compares and shows URLs: it knows the one form of a host that a policy
// is asked about, and which parts of a URL must not be printed.
package weburl

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tofureg/tofureg/disco/svchost"
)

// defaultPorts has the port that a URL of a scheme means if it has none.
var defaultPorts = map[string]string{"https": "443", "http": "80", "ssh": "22", "git": "9418"}

// Host returns the host of u in its canonical form, "host" or "host:port", for a policy
// such as VetoHost. Names are in lower-case ASCII. Addresses are as [netip.Addr] writes
// them, without a zone, and IPv4 addresses in IPv6 form are IPv4 addresses. The default
// port of the scheme is dropped.
//
// Dialled is the same with the zone: the host of the URL to request.
//
// The error is for URLs without a host, with a port out of range, and with a host that a
// resolver might take for another one, such as 127.1.
func Host(u *url.URL) (host, dialled string, err error) {
	if u.Opaque != "" || u.Hostname() == "" {
		return "", "", errors.New("the URL has no host")
	}
	text := strings.ToLower(u.Host)
	if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		h, err := svchost.FromWire(u.Host)
		if err != nil {
			return "", "", fmt.Errorf("the URL has no valid host: %w", err)
		}
		text = h.String()
	}
	split := url.URL{Host: text}
	name, zone, err := canonicalName(split.Hostname(), text[0] == '[')
	if err != nil {
		return "", "", fmt.Errorf("the URL has no valid host: %q: %w", Clean(text, MaxShown), err)
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
		return "", fmt.Errorf("the URL has no valid port: %q", Clean(port, 20))
	}
	if port = strconv.FormatUint(n, 10); port == defaultPorts[scheme] {
		return "", nil
	}
	return ":" + port, nil
}

// canonicalName refuses names of hosts that have another name too, and invalid names. In
// brackets stands an IPv6 address, which url.Parse has checked, but not its zone.
func canonicalName(name string, brackets bool) (canonical, zone string, err error) {
	addr, err := netip.ParseAddr(name)
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return !isHostRune(r) && (!brackets || r != '%') }):
		// url.Parse lets quotes, angle brackets and more of that kind pass.
		return "", "", errors.New("it has a character that is in no name")
	case err == nil && addr.Zone() != "":
		zone = "%" + addr.Zone()
		fallthrough
	case err == nil:
		return addr.Unmap().WithZone("").String(), zone, nil
	case brackets:
		return "", "", errors.New("it is not an IPv6 address")
	case strings.Contains(name, ":"): // url.Parse lets it pass where the scheme is missing
		return "", "", errors.New("it has a colon too many")
	case strings.HasSuffix(name, "."):
		return "", "", errors.New("it ends with a dot")
	case isNumber(name[strings.LastIndexByte(name, '.')+1:]):
		// Some resolvers take 127.1 and 0x7f000001 for 127.0.0.1.
		return "", "", errors.New("it is an IPv4 address in an unusual form")
	}
	return name, "", nil
}

func isHostRune(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~:", r)
}

// isNumber reports whether a resolver may read the last label of a name as a
// number, and so the name as an address.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// CheckHost refuses URLs whose host [Host] refuses. It is for callers that read URLs
// before they request them.
func CheckHost(u *url.URL) error {
	_, _, err := Host(u)
	return err
}
