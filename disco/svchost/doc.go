// Package svchost parses and normalises the hostnames of registries, such as registry.opentofu.org or
// böb.example.com:8443. Spellings of the same host give the same [Hostname], which can be compared with == and used
// as a map key. It is meant for 1.0.
//
//	h, err := svchost.Parse("Registry.Example.com:443")
//	if err != nil {
//		return err // a *svchost.ParseError
//	}
//	fmt.Println(h) // registry.example.com
//
// A hostname consists of labels of 1 to 63 bytes, at most 253 bytes in ASCII form, and an
// optional port from 1 to 65535. The default port 443 is dropped. Single labels such as
// localhost and IPv4 addresses are valid. IPv6 addresses, URLs, paths and a final dot are not.
//
// Names are written in Unicode. [Parse] refuses punycode (xn--...), which would hide the name from
// the reader, in any spelling. Unicode names are mapped as by current clients (UTS #46 for lookup,
// not transitional): straße.example and strasse.example differ. Letters that are newer than Unicode 15 are
// refused; OpenTofu 1.13 has Unicode 17.
//
// The protocol is https://opentofu.org/docs/internals/remote-service-discovery/.
package svchost
