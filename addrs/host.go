package addrs

import "github.com/tofureg/tofureg/disco/svchost"

var defaultHost = svchost.MustParse("registry.opentofu.org")

// DefaultHost returns registry.opentofu.org, the public registry of OpenTofu.
func DefaultHost() svchost.Hostname { return defaultHost }

// orDefault returns the default host for addresses, which is host unless it is zero, or the
// reason why host is not valid.
func orDefault(host svchost.Hostname) (h svchost.Hostname, reason string) {
	if host.IsZero() || host == defaultHost {
		return defaultHost, ""
	}
	return host, checkHost(host)
}

// checkHost returns the reason why host cannot be part of an address, or "". The text of a
// host from [svchost.FromWire] may be invalid in an address.
func checkHost(host svchost.Hostname) string {
	if host.IsZero() {
		return "the hostname is missing"
	}
	if h, err := svchost.Parse(host.Display()); err != nil || h != host {
		return "the hostname is not one that an address can have"
	}
	return ""
}
