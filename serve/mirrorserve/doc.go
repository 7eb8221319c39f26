// Package mirrorserve serves a mirror or any other source as a network mirror. It is experimental.
//
// A [Handler] serves any [provider.Source]: the files of a [mirrordir.Mirror], or packages that it downloads and
// verifies on request. A [Cache] also stores these in a mirror:
//
//	cache := &mirrorserve.Cache{Source: registry, Mirror: mirror}
//	http.Handle("/providers/", http.StripPrefix("/providers", &mirrorserve.Handler{Source: cache}))
//
// Clients decide which hosts a registry client as the source contacts: set Patterns of the [Cache] or of a
// [provider.Multi], or VetoHost of [github.com/tofureg/tofureg/transport.Settings].
//
// The protocol has no signatures: clients trust the mirror, or have a lock file. See
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/. The CLIs cannot request providers of a host
// with a port.
package mirrorserve
