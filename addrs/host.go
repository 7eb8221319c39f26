package addrs

import "github.com/tofureg/tofureg/disco/svchost"

var defaultHost = svchost.MustParse("registry.opentofu.org")

// DefaultHost returns the host of an address that states none: registry.opentofu.org, the
// public registry of OpenTofu.
func DefaultHost() svchost.Hostname { return defaultHost }

// orDefault returns the host for addresses without one, given what the caller wants as such,
// or the reason why it cannot be.
func orDefault(host svchost.Hostname) (h svchost.Hostname, reason string) {
	if host.IsZero() || host == defaultHost {
		return defaultHost, ""
	}
	return host, checkHost(host)
}

// checkHost returns the reason why host cannot be part of an address, or "". Hosts from
// [svchost.FromWire] may have a form that no address can have.
func checkHost(host svchost.Hostname) string {
	if host.IsZero() {
		return "the hostname is missing"
	}
	if h, err := svchost.Parse(host.Display()); err != nil || h != host {
		return "the hostname is not one that an address can have"
	}
	return ""
}
