// Package svchost parses and normalises the hostnames of registries, such as registry.opentofu.org or
// böb.example.com:8443. It is meant for 1.0.
//
//	h, err := svchost.Parse("Registry.Example.com:443")
//	fmt.Println(h) // registry.example.com
//
// A hostname consists of labels of 1 to 63 bytes, at most 253 bytes in ASCII form, and an optional port from 1
// to 65535. IPv4 addresses are valid. IPv6 addresses, URLs and a final dot are not. Unicode names are mapped
// by UTS #46 for lookup, not transitional. Letters newer than Unicode 15 are refused; OpenTofu 1.13 has
// Unicode 17.
//
// The protocol is https://opentofu.org/docs/internals/remote-service-discovery/.
package svchost
