// Package svchost parses the hostname by which people name a registry.
//
// Such a name, for example registry.opentofu.org or böb.example.com:8443, appears in
// provider and module addresses, in credentials and in CLI configuration. It is the key
// under which a program looks up tokens and services, so two spellings of one name must
// give one value, and no spelling may pass for a name that it is not:
//
//	h, err := svchost.Parse("Registry.Example.com:443")
//	if err != nil {
//		return err // a *svchost.ParseError that says what is wrong
//	}
//	fmt.Println(h) // registry.example.com
//
// See https://opentofu.org/docs/internals/remote-service-discovery/ for the protocol.
//
// # Rules
//
// A name is normalised once and then the normalised form is checked. It consists of labels
// of 1 to 63 bytes, 253 bytes in all (as DNS counts them, in ASCII form), without a dot at
// the end, optionally followed by a colon and a port from 1 to 65535 in decimal digits.
// Port 443 is the default and disappears. IPv4 addresses and names of a single label such
// as localhost are accepted; IPv6 addresses, URLs and paths are not.
//
// Names are written in Unicode. Their punycode form (xn--...) is refused in every spelling,
// because it would let a name be shown in a form that hides what it is. [FromWire] is the
// parser for the places where punycode is legal.
//
// The protocol document asks for Nameprep. This package, like the clients in use, applies
// UTS #46 for lookup without the transitional mapping instead: letters are folded to lower
// case and compatibility forms to plain ones as Nameprep does, but ß and final ς are letters
// of their own: straße.example is not strasse.example.
//
// Look-alike letters of different scripts are different names. This package does not guess
// which of them a reader would confuse.
package svchost
