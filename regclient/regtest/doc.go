// Package regtest is a provider registry in memory, for the tests of programs
// that talk to OpenTofu or Terraform registries. It is to those what
// net/http/httptest is to HTTP:
//
//	reg := regtest.New("registry.example.com")
//	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
//	client := &regclient.Client{HTTP: reg.Client()}
//
// What it serves is real: zip archives, a SHA256SUMS document, a detached
// OpenPGP signature by a fresh key. Contents are the same in every run, keys
// are not.
//
// # Three ways in
//
// A [Registry] is an [net/http.RoundTripper]. [Registry.Client] wraps it in a
// client that reaches the registry under its name with neither a port nor TLS
// nor a goroutine. Bodies are streamed, contexts are honoured, and all waiting
// is done on the clock of the caller, so that a test inside a testing/synctest
// bubble can let minutes pass at once. Every other host name answers too, which
// makes it a place to redirect to or to download from; only discovery says 404
// there.
//
// A Registry is also an [net/http.Handler], which answers under whatever Host
// it is asked for. [Registry.ServeTLS] starts a listener on the loopback
// interface with a certificate of its own, for programs that cannot be handed a
// client, such as terraform and tofu themselves.
//
// # What is asked
//
// The registry knows two protocols, discovery and that of provider registries.
// Each of their requests has a [Kind]:
//
//	GET /.well-known/terraform.json                            Discovery
//	GET /v1/providers/NAMESPACE/TYPE/versions                  Versions
//	GET /v1/providers/NAMESPACE/TYPE/VERSION/download/OS/ARCH  Package
//	GET …_SHA256SUMS                                           Sums
//	GET …_SHA256SUMS.sig                                       Signature
//	GET ….zip                                                  Archive
//
// Files have strong entity tags and can be had in ranges. HEAD gets 404, as it
// does at real registries that know only GET. [Registry.Requests] is the record
// of all that was asked, tokens included.
//
// # What goes wrong
//
// [Provider] describes what a registry may offer, including versions that are
// none, missing sums, and keys that expired. [Fault] describes how an answer
// departs from the plain one: late, broken off, refused, redirected, altered.
// [Registry.Require] asks for a token.
//
// See https://opentofu.org/docs/internals/remote-service-discovery/ and
// https://opentofu.org/docs/internals/provider-registry-protocol/.
//
// The package is for tests. A mistake in the calls that set a registry up, such
// as an address that is none, is a panic, as in httptest. No request makes it
// panic.
package regtest
