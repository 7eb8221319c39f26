// Package mirrorserve serves the provider network mirror protocol over HTTP: from a mirror, or
// from any other source, whose packages it verifies and passes on, and with a [Cache] keeps.
//
//	http.Handle("/providers/", http.StripPrefix("/providers", &mirrorserve.Handler{Source: mirror}))
//
// The Source of a [Handler] is a [mirrordir.Mirror], a [Cache], or any other [provider.Source].
//
// See https://opentofu.org/docs/internals/provider-network-mirror-protocol/. OpenTofu and
// Terraform cannot ask a network mirror for providers of a host with a port: they fail with
// "unsupported protocol scheme".
package mirrorserve
